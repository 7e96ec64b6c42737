// Values of rows: arrays with their shapes.
#include "attnscope/rows/record.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

TEST(Array, PartsAreRowMajor) {
  const Array array{{2, 3, 2}, std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};
  visit_array(array, [](const auto& all) {
    ASSERT_FALSE(all.is_vector());
    const auto vector = all[1][2];
    ASSERT_TRUE(vector.is_vector());
    ASSERT_EQ(vector.values.size(), 2);
    EXPECT_EQ(vector.values[0], 10);
    EXPECT_EQ(vector.values[1], 11);
  });
}

TEST(Array, AVectorHasOneDimension) {
  const Value numbers(std::vector<double>{1, 2, 3});
  ASSERT_NE(numbers.get<Array>(), nullptr);
  EXPECT_EQ(numbers.get<Array>()->shape, (std::vector<std::int64_t>{3}));
  EXPECT_TRUE(Value(std::optional<std::vector<double>>()).is_null());
}

TEST(Array, RejectsAnotherTypeOrShape) {
  const Record row = {{"numbers", std::vector<double>{1, 2}},
                      {"counts", std::vector<std::int64_t>{1, 2}},
                      {"matrix", Array{{2, 1}, std::vector<double>{1, 2}}},
                      {"list", Value::List{1.0, 2.0}}};
  EXPECT_EQ(expect_vector<double>(row, "numbers"), (std::vector<double>{1, 2}));
  EXPECT_EQ(expect_vector<std::int64_t>(row, "counts"), (std::vector<std::int64_t>{1, 2}));
  const auto matrix = expect_matrix<double>(row, "matrix");
  EXPECT_EQ(matrix.rows, 2);
  EXPECT_EQ(matrix.cols, 1);
  EXPECT_EQ(matrix(1, 0), 2);
  for (const char* name : {"counts", "matrix", "list", "absent"}) {
    EXPECT_ERROR_SAYING(ErrorKind::format, expect_vector<double>(row, name), name);
  }
  for (const char* name : {"numbers", "counts", "list", "absent"}) {
    EXPECT_ERROR_SAYING(ErrorKind::format, expect_matrix<double>(row, name), name);
  }
}

}  // namespace
}  // namespace attnscope::test
