// Every compression method describes itself completely.
#include "attnscope/features/plan/methods/methods.h"

#include <gtest/gtest.h>

#include <set>

namespace attnscope::test {
namespace {

TEST(Methods, AreFoundByName) {
  std::set<std::string_view> names;
  for (const Method method : methods()) {
    EXPECT_TRUE(names.insert(method->name).second) << method->name;
    EXPECT_EQ(find_method(method->name), method);
    const std::string_view key = method->set_name.empty() ? method->name : method->set_name;
    EXPECT_TRUE(method->set_example.starts_with(std::string(key) + "=")) << method->set_example;
  }
  EXPECT_EQ(find_method("none"), nullptr);
}

TEST(Methods, DefineAllFunctionsWithoutADefault) {
  for (const Method method : methods()) {
    SCOPED_TRACE(method->name);
    EXPECT_NE(method->why_not, nullptr);
    EXPECT_NE(method->sizes, nullptr);
    EXPECT_NE(method->make, nullptr);
    EXPECT_NE(method->size_after, nullptr);
    EXPECT_EQ(method->whole == nullptr, method->cut == nullptr);
    EXPECT_EQ(method->changed_elements == nullptr, method->fitting_bytes == nullptr);
  }
}

}  // namespace
}  // namespace attnscope::test
