#include "attnscope/tensor/tensor_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace attnscope {
namespace {

/// A tensor whose element values are their storage positions.
class CountingTensor {
 public:
  explicit CountingTensor(Shape shape) {
    view_ = {.dtype = DType::f32, .shape = std::move(shape)};
    values_.resize(static_cast<std::size_t>(view_.element_count()));
    std::iota(values_.begin(), values_.end(), 0.0f);
    view_.bytes = std::as_bytes(std::span(values_));
  }
  const TensorView& view() const { return view_; }

 private:
  std::vector<float> values_;
  TensorView view_;
};

/// The same values from a source that decodes them.
class CountingSource : public ValueSource {
 public:
  explicit CountingSource(std::int64_t cols) : cols_(cols) {}
  void decode(std::int64_t first_row, std::int64_t first_col,
              MatrixView<float> out) const override {
    ASSERT_LE(first_col + out.cols, cols_);
    for (std::int64_t row = 0; row < out.rows; ++row) {
      for (std::int64_t col = 0; col < out.cols; ++col) {
        out(row, col) = static_cast<float>((first_row + row) * cols_ + first_col + col);
      }
    }
  }
  std::vector<std::span<const std::byte>> reads(std::int64_t, std::int64_t, std::int64_t,
                                                std::int64_t) const override {
    return {};
  }

 private:
  std::int64_t cols_;
};

/// The definition in tensor_matrix.h, element by element.
std::int64_t position(const TensorMatrix& stored, std::int64_t row, std::int64_t col) {
  return stored.first + row / stored.block_rows * stored.block_stride +
         row % stored.block_rows * stored.row_stride + col * stored.col_stride;
}

void expect_follows_definition(const TensorMatrix& stored) {
  if (stored.rows > 0 && stored.cols > 0) {
    const std::int64_t last = position(stored, stored.rows - 1, stored.cols - 1);
    ASSERT_EQ(byte_ranges(stored).size(), 1u);
    const std::span<const std::byte> range = byte_ranges(stored).front();
    EXPECT_EQ(range.data(), stored.tensor.bytes.data() + 4 * stored.first);
    EXPECT_EQ(std::ssize(range), 4 * (last + 1 - stored.first));
  } else {
    EXPECT_TRUE(byte_ranges(stored).empty());
  }
  TensorMatrix of_source = stored;
  of_source.tensor.bytes = {};
  of_source.tensor.source = std::make_shared<CountingSource>(stored.tensor.cols());
  const Matrix<float> floats = decode<float>(stored);
  const Matrix<double> doubles = decode<double>(stored);
  const Matrix<float> sourced = decode<float>(of_source);
  const Matrix<double> sourced_doubles = decode<double>(of_source);
  ASSERT_EQ(floats.rows(), stored.rows);
  ASSERT_EQ(floats.cols(), stored.cols);
  for (std::int64_t row = 0; row < stored.rows; ++row) {
    for (std::int64_t col = 0; col < stored.cols; ++col) {
      const std::int64_t wanted = position(stored, row, col);
      ASSERT_LT(wanted, stored.tensor.element_count());
      ASSERT_EQ(floats(row, col), static_cast<float>(wanted)) << row << ", " << col;
      ASSERT_EQ(doubles(row, col), static_cast<double>(wanted)) << row << ", " << col;
      ASSERT_EQ(sourced(row, col), static_cast<float>(wanted)) << row << ", " << col;
      ASSERT_EQ(sourced_doubles(row, col), static_cast<double>(wanted)) << row << ", " << col;
    }
  }
}

TEST(TensorMatrix, ReadsAWholeTensor) {
  const CountingTensor tensor({3, 5});
  const TensorMatrix stored = whole_matrix(tensor.view());
  expect_follows_definition(stored);
  EXPECT_EQ(decode<float>(stored)(2, 4), 14);
}

TEST(TensorMatrix, ReadsATensorWithoutElements) {
  // The last one has more rows than could ever be visited.
  for (const Shape& shape : {Shape{0, 5}, Shape{5, 0}, Shape{0, 0}, Shape{INT64_MAX, 0}}) {
    const CountingTensor tensor(shape);
    const Matrix<float> decoded = decode<float>(whole_matrix(tensor.view()));
    EXPECT_EQ(decoded.rows(), shape[0]);
    EXPECT_EQ(decoded.cols(), shape[1]);
  }
}

// Conv1D stores (in, out). The sizes are close to the strip of 64 rows that is decoded at a time.
TEST(TensorMatrix, ReadsATransposedTensorOfConv1D) {
  for (const std::int64_t outputs : {1, 2, 63, 64, 65, 130}) {
    const CountingTensor tensor({3, outputs});
    const TensorMatrix stored{.tensor = tensor.view(),
                              .rows = outputs,
                              .cols = 3,
                              .row_stride = 1,
                              .col_stride = outputs,
                              .block_rows = outputs,
                              .block_stride = outputs};
    expect_follows_definition(stored);
    EXPECT_EQ(decode<float>(stored)(outputs - 1, 2), static_cast<float>(3 * outputs - 1));
  }
}

// GPT-2's c_attn: the second third of the output axis, stored as (in, 3 * out).
TEST(TensorMatrix, ReadsATransposedPartOfAFusedTensor) {
  const CountingTensor tensor({4, 3 * 70});
  const TensorMatrix stored{.tensor = tensor.view(),
                            .rows = 70,
                            .cols = 4,
                            .first = 70,
                            .row_stride = 1,
                            .col_stride = 210,
                            .block_rows = 70,
                            .block_stride = 210};
  expect_follows_definition(stored);
  EXPECT_EQ(decode<float>(stored)(0, 1), 280);
}

// GPT-NeoX's query_key_value: rows of Q, K and V for each head. Here K of 3 heads of 2.
TEST(TensorMatrix, ReadsRowsInterleavedWithOtherMatrices) {
  constexpr std::int64_t kHeads = 3, kHeadDim = 2, kWidth = 5;
  const CountingTensor tensor({kHeads * 3 * kHeadDim, kWidth});
  const TensorMatrix stored{.tensor = tensor.view(),
                            .rows = kHeads * kHeadDim,
                            .cols = kWidth,
                            .first = kHeadDim * kWidth,
                            .row_stride = kWidth,
                            .block_rows = kHeadDim,
                            .block_stride = 3 * kHeadDim * kWidth};
  expect_follows_definition(stored);
  EXPECT_EQ(decode<float>(stored)(2, 0), (3 * kHeadDim + kHeadDim) * kWidth);  // head 1, row 0
}

TEST(TensorMatrix, ReadsInterleavedTransposedRows) {
  constexpr std::int64_t kHeads = 3, kHeadDim = 70, kWidth = 2;
  constexpr std::int64_t kOutputs = kHeads * 2 * kHeadDim;
  const CountingTensor tensor({kWidth, kOutputs});
  expect_follows_definition({.tensor = tensor.view(),
                             .rows = kHeads * kHeadDim,
                             .cols = kWidth,
                             .first = kHeadDim,
                             .row_stride = 1,
                             .col_stride = kOutputs,
                             .block_rows = kHeadDim,
                             .block_stride = 2 * kHeadDim});
}

// gpt-oss stores (in, out), with alternating rows of gate and up. The sizes are close to the strip
// of a source.
TEST(TensorMatrix, ReadsEverySecondTransposedRow) {
  for (const std::int64_t outputs : {1, 2, 127, 128, 129, 300}) {
    const CountingTensor tensor({2, 3, 2 * outputs});
    for (const std::int64_t first : {0, 1}) {
      const TensorMatrix stored{.tensor = tensor.view(),
                                .rows = outputs,
                                .cols = 3,
                                .first = 3 * 2 * outputs + first,
                                .row_stride = 2,
                                .col_stride = 2 * outputs,
                                .block_rows = outputs,
                                .block_stride = 2 * outputs};
      expect_follows_definition(stored);
    }
  }
}

TEST(TensorMatrix, ReadsASliceOfAStackedTensor) {
  const CountingTensor tensor({4, 3, 3});
  const TensorMatrix stored{.tensor = tensor.view(),
                            .rows = 3,
                            .cols = 3,
                            .first = 2 * 9,
                            .row_stride = 3,
                            .block_rows = 3,
                            .block_stride = 9};
  expect_follows_definition(stored);
  EXPECT_EQ(decode<float>(stored)(0, 0), 18);
}

TEST(TensorMatrix, ExactDecodingKeepsFloat64) {
  const std::vector<double> values = {1.0 / 3, 1e-300, -2, 1 + 0x1p-52};
  const TensorView tensor{
      .dtype = DType::f64, .shape = {2, 2}, .bytes = std::as_bytes(std::span(values))};
  const WeightMatrix decoded = decode_exact(whole_matrix(tensor));
  ASSERT_TRUE(std::holds_alternative<Matrix<double>>(decoded));
  for (std::int64_t index = 0; index < 4; ++index) {
    EXPECT_EQ(std::get<Matrix<double>>(decoded)(index / 2, index % 2),
              values[static_cast<std::size_t>(index)]);
  }
}

TEST(TensorMatrix, ExactDecodingOfShorterTypesIsFloat32) {
  const std::vector<std::byte> zeros(16);
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.kind != DTypeClass::real || info.dtype == DType::f64) continue;
    const TensorView tensor{.dtype = info.dtype, .shape = {2, 2}, .bytes = zeros};
    EXPECT_TRUE(std::holds_alternative<Matrix<float>>(decode_exact(whole_matrix(tensor))))
        << info.name;
  }
}

}  // namespace
}  // namespace attnscope
