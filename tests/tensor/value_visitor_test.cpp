#include "attnscope/tensor/value_visitor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "attnscope/tensor/decode.h"

namespace attnscope {
namespace {

/// A 6 x 5 matrix in each storage layout of a file; the bytes count up.
struct Layouts {
  std::vector<std::byte> bytes = std::vector<std::byte>(2 * 2 * 6 * 5 * 4);

  Layouts() {
    for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = static_cast<std::byte>(at * 37);
  }

  std::vector<TensorMatrix> of(DType dtype) const {
    const TensorView tensor{dtype, {60}, bytes};
    return {
        {.tensor = tensor, .rows = 6, .cols = 5, .row_stride = 5, .block_rows = 6},
        {.tensor = tensor, .rows = 6, .cols = 5, .first = 2, .row_stride = 8, .block_rows = 6},
        {.tensor = tensor, .rows = 6, .cols = 5, .row_stride = 1, .col_stride = 6, .block_rows = 6},
        {.tensor = tensor,
         .rows = 6,
         .cols = 5,
         .first = 5,
         .row_stride = 5,
         .block_rows = 2,
         .block_stride = 20},
        {.tensor = tensor,
         .rows = 6,
         .cols = 5,
         .first = 1,
         .row_stride = 1,
         .col_stride = 10,
         .block_rows = 2,
         .block_stride = 3},
    };
  }
};

const std::vector<MatrixPart> kParts = {{0, 6, 0, 5}, {2, 2, 0, 5}, {1, 4, 1, 3}, {5, 1, 4, 1}};

/// Values in ascending order, without NaN.
std::vector<double> sorted_numbers(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<double> expected_values(const TensorMatrix& stored, const MatrixPart& part) {
  const Matrix<double> whole = decode<double>(stored);
  std::vector<double> values;
  for (std::int64_t row = part.first_row; row < part.first_row + part.rows; ++row) {
    for (std::int64_t col = part.first_col; col < part.first_col + part.cols; ++col) {
      values.push_back(whole(row, col));
    }
  }
  return sorted_numbers(std::move(values));
}

TEST(TensorValues, VisitsEachValueOnceInAnyLayout) {
  const Layouts layouts;
  for (const TensorMatrix& stored : layouts.of(DType::f16)) {
    for (const MatrixPart& part : kParts) {
      std::vector<double> visited;
      visit_values(stored, part, [&](std::span<const double> values) {
        visited.insert(visited.end(), values.begin(), values.end());
      });
      EXPECT_EQ(std::ssize(visited), part.count());
      const std::vector<double> expected = expected_values(stored, part);
      EXPECT_EQ(sorted_numbers(visited), expected);
      // A sample as large as the part is the part.
      EXPECT_EQ(sorted_numbers(sample_values(stored, part, 100)), expected);
    }
  }
}

constexpr DType kCountable[] = {DType::f16,     DType::bf16,        DType::f8_e4m3,
                                DType::f8_e5m2, DType::f8_e4m3fnuz, DType::f8_e5m2fnuz,
                                DType::f8_e8m0};

TEST(TensorValues, CountsPatternsInAnyLayout) {
  const Layouts layouts;
  for (const DType dtype : kCountable) {
    ASSERT_TRUE(has_countable_patterns(TensorView{dtype}));
    const PatternTable& table = pattern_table(dtype);
    for (const TensorMatrix& stored : layouts.of(dtype)) {
      for (const MatrixPart& part : kParts) {
        std::vector<std::int64_t> counts(table.values.size(), 0);
        count_patterns(stored, part, counts);
        std::vector<double> values;
        for (std::size_t pattern = 0; pattern < counts.size(); ++pattern) {
          values.insert(values.end(), static_cast<std::size_t>(counts[pattern]),
                        table.values[pattern]);
        }
        EXPECT_EQ(std::ssize(values), part.count());
        EXPECT_EQ(sorted_numbers(values), expected_values(stored, part));
      }
    }
  }
  EXPECT_FALSE(has_countable_patterns(TensorView{DType::f32}));
  EXPECT_FALSE(has_countable_patterns(TensorView{DType::i16}));
}

TEST(TensorValues, PatternTablesContainEveryFiniteValueInOrder) {
  for (const DType dtype : kCountable) {
    const PatternTable& table = pattern_table(dtype);
    ASSERT_EQ(table.values.size(), std::size_t{1} << dtype_info(dtype).bits);
    std::set<std::uint32_t> seen(table.ascending.begin(), table.ascending.end());
    EXPECT_EQ(seen.size(), table.ascending.size());
    for (std::uint32_t pattern = 0; pattern < table.values.size(); ++pattern) {
      EXPECT_EQ(seen.contains(pattern), std::isfinite(table.values[pattern]));
    }
    for (std::size_t at = 1; at < table.ascending.size(); ++at) {
      EXPECT_LE(table.values[table.ascending[at - 1]], table.values[table.ascending[at]]);
    }
  }
  EXPECT_EQ(pattern_table(DType::bf16).values[0x3F80], 1);
  EXPECT_EQ(pattern_table(DType::f16).values[0xC000], -2);
}

TEST(TensorValues, VisitsLongRunsInBlocks) {
  std::vector<float> numbers(10'000);
  for (std::size_t at = 0; at < numbers.size(); ++at) numbers[at] = static_cast<float>(at);
  const TensorView tensor{DType::f32, {2, 5000}, std::as_bytes(std::span(numbers))};
  const TensorMatrix stored = whole_matrix(tensor);
  std::vector<double> visited;
  visit_values(stored, whole_part(stored), [&](std::span<const double> values) {
    visited.insert(visited.end(), values.begin(), values.end());
  });
  ASSERT_EQ(visited.size(), numbers.size());
  for (std::size_t at = 0; at < numbers.size(); ++at) ASSERT_EQ(visited[at], numbers[at]);

  // One value per hundred.
  const std::vector<double> sample = sample_values(stored, whole_part(stored), 100);
  ASSERT_EQ(sample.size(), 100u);
  for (std::size_t at = 0; at < sample.size(); ++at) {
    EXPECT_EQ(static_cast<std::size_t>(sample[at]) / 100, at);
  }
}

TEST(TensorValues, OnlyShortDtypesHavePatterns) {
  for (const DTypeInfo& info : all_dtypes()) {
    if (has_countable_patterns(TensorView{info.dtype})) {
      EXPECT_EQ(pattern_table(info.dtype).values.size(), std::size_t{1} << info.bits) << info.name;
    } else {
      EXPECT_THROW(pattern_table(info.dtype), std::invalid_argument) << info.name;
    }
  }
}

}  // namespace
}  // namespace attnscope
