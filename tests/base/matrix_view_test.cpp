#include "attnscope/base/matrix_view.h"

#include <gtest/gtest.h>

#include "attnscope/base/role.h"

namespace attnscope {
namespace {

TEST(MatrixView, BlocksAndTransposesShareMemory) {
  Matrix<float> owner(3, 4);
  for (std::int64_t row = 0; row < 3; ++row) {
    for (std::int64_t col = 0; col < 4; ++col) owner(row, col) = static_cast<float>(10 * row + col);
  }
  const MatrixView<const float> whole = owner.view();
  const auto block = whole.block(/*first_row=*/1, /*row_count=*/2, /*first_col=*/2,
                                 /*col_count=*/2);
  EXPECT_EQ(block(0, 0), 12);
  EXPECT_EQ(block(1, 1), 23);
  EXPECT_EQ(block.transposed()(0, 1), 22);
  EXPECT_EQ(whole.row_block(2, 1)(0, 3), 23);
  EXPECT_EQ(whole.transposed().row_block(3, 1)(0, 2), 23);
  EXPECT_EQ(whole.col_block(1, 1).rows, 3);
  EXPECT_EQ(whole.col_block(1, 1)(2, 0), 21);
}

TEST(Role, ParsesTheNameOfEveryRole) {
  for (const std::string_view name : kRoleNames) {
    const auto role = role_from_name(name);
    ASSERT_TRUE(role);
    EXPECT_EQ(role_name(*role), name);
  }
  EXPECT_EQ(role_from_name("Q"), std::nullopt);
  EXPECT_EQ(role_from_name(""), std::nullopt);
}

TEST(HeadShape, QueryHeadsShareKeyValueHeads) {
  const HeadShape heads{.heads = 8, .kv_heads = 2, .head_dim = 4, .value_dim = 4};
  EXPECT_EQ(heads.group_size(), 4);
  EXPECT_EQ(heads.kv_head(3), 0);
  EXPECT_EQ(heads.kv_head(4), 1);
  EXPECT_EQ(heads.count(Role::key), 2);
  EXPECT_EQ(heads.count(Role::value), 2);
  EXPECT_EQ(heads.count(Role::kv), 2);
  for (const Role role : {Role::query, Role::output, Role::qk, Role::ov}) {
    EXPECT_EQ(heads.count(role), 8) << role_name(role);
  }
  EXPECT_EQ(heads.count(Role::gate), 0);
}

}  // namespace
}  // namespace attnscope
