#include "attnscope/base/role.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

TEST(Role, ConvertsNamesBothWays) {
  for (const std::string& name : role_names()) EXPECT_EQ(role_name(*role_from_name(name)), name);
  EXPECT_EQ(role_from_name("Q"), std::nullopt);
}

TEST(Role, ListsFactorsInTheOrderOfTheProduct) {
  const auto names = [](Role role) {
    std::string text;
    for (const Role factor : factors_of(role)) text += std::string(role_name(factor)) + " ";
    return text;
  };
  EXPECT_EQ(names(Role::qk), "q k ");
  EXPECT_EQ(names(Role::ov), "o v ");
  EXPECT_EQ(names(Role::kv), "k v ");
  for (const Role role : kProjections) {
    EXPECT_EQ(names(role), std::string(role_name(role)) + " ");
    EXPECT_TRUE(is_projection(role));
  }
  for (const Role role : {Role::qk, Role::ov, Role::kv}) EXPECT_FALSE(is_projection(role));
}

TEST(HeadShape, ReportsTheRowsAndColumnsOfOneHead) {
  const HeadShape shape{.heads = 8, .kv_heads = 2, .head_dim = 4, .value_dim = 3};
  const struct {
    Role role;
    std::int64_t count, inner, total;
  } cases[] = {
      {Role::query, 8, 4, 32},  {Role::key, 2, 4, 8},  {Role::value, 2, 3, 6},
      {Role::output, 8, 3, 24}, {Role::qk, 8, 4, 32},  {Role::ov, 8, 3, 24},
      {Role::kv, 2, 7, 14},     {Role::gate, 0, 0, 0}, {Role::down, 0, 0, 0},
  };
  for (const auto& [role, count, inner, total] : cases) {
    EXPECT_EQ(shape.count(role), count) << role_name(role);
    EXPECT_EQ(shape.inner_dim(role), inner) << role_name(role);
    EXPECT_EQ(shape.total_dim(role), total) << role_name(role);
  }
}

}  // namespace
}  // namespace attnscope
