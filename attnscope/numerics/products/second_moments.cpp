#include "attnscope/numerics/products/second_moments.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "attnscope/numerics/lapack/lapack.h"
#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {

void add_second_moments(MatrixView<const float> a, MatrixView<const float> b,
                        MatrixView<double> sums, const Compute& compute) {
  constexpr std::int64_t kRows = 256, kBlock = 256;
  const bool same = a.data == b.data;
  std::vector<std::pair<std::int64_t, std::int64_t>> blocks;
  for (std::int64_t row = 0; row < a.cols; row += kBlock) {
    for (std::int64_t col = 0; col < b.cols && !(same && col > row); col += kBlock) {
      blocks.emplace_back(row, col);
    }
  }
  run_parts(compute, blocks.size(), [&](std::size_t part) {
    const auto [first, second] = blocks[part];
    const std::int64_t rows = std::min(kBlock, a.cols - first);
    const std::int64_t cols = std::min(kBlock, b.cols - second);
    Matrix<float> products(rows, cols);
    for (std::int64_t row = 0; row < a.rows; row += kRows) {
      compute.check_stop();
      const std::int64_t count = std::min(kRows, a.rows - row);
      lapack::multiply_transposed(a.block(row, count, first, rows).transposed(),
                                  b.block(row, count, second, cols).transposed(), products.view());
      for (std::int64_t at = 0; at < rows; ++at) {
        double* const into = &sums(first + at, second);
        const float* const from = &products(at, 0);
        for (std::int64_t col = 0; col < cols; ++col) into[col] += static_cast<double>(from[col]);
      }
    }
  });
}

namespace {

constexpr std::int64_t kMomentBlock = 512;

std::size_t parts_of(std::int64_t size) {
  return static_cast<std::size_t>((size + kMomentBlock - 1) / kMomentBlock);
}

/// Calls part(first, count) for blocks of rows.
void for_row_blocks(const Compute& compute, std::int64_t rows,
                    const std::function<void(std::int64_t, std::int64_t)>& part) {
  run_parts(compute, parts_of(rows), [&](std::size_t at) {
    const auto first = static_cast<std::int64_t>(at) * kMomentBlock;
    part(first, std::min(kMomentBlock, rows - first));
  });
}

/// Returns these rows of a symmetric matrix, including the upper triangle.
Matrix<double> rows_of_symmetric(MatrixView<const double> lower, std::int64_t first,
                                 std::int64_t count) {
  Matrix<double> out(count, lower.cols);
  for (std::int64_t row = 0; row < count; ++row) {
    for (std::int64_t col = 0; col <= first + row; ++col) out(row, col) = lower(first + row, col);
  }
  for (std::int64_t col = first; col < lower.cols; ++col) {
    const std::int64_t above = std::min(count, col - first);
    for (std::int64_t row = 0; row < above; ++row) out(row, col) = lower(col, first + row);
  }
  return out;
}

}  // namespace

Matrix<double> product_on_both_sides(MatrixView<const double> weight,
                                     MatrixView<const double> lower, const Compute& compute) {
  const std::int64_t m = weight.rows, n = weight.cols;
  Matrix<double> out(m, m);
  std::fill_n(out.data(), m * m, 0.0);
  for (std::int64_t first = 0; first < n; first += kMomentBlock) {
    compute.check_stop();
    const std::int64_t count = std::min(kMomentBlock, n - first);
    const Matrix<double> moments = rows_of_symmetric(lower, first, count);
    for_row_blocks(compute, m, [&](std::int64_t row, std::int64_t rows) {
      Matrix<double> read(rows, count), own(rows, row + rows);
      lapack::multiply_transposed(weight.row_block(row, rows), moments.view(), read.view());
      lapack::multiply_transposed(read.view(), weight.block(0, row + rows, first, count),
                                  own.view());
      for (std::int64_t at = 0; at < rows; ++at) {
        for (std::int64_t col = 0; col < row + rows; ++col) out(row + at, col) += own(at, col);
      }
    });
  }
  return out;
}

Matrix<double> columns_gram(MatrixView<const double> weight, const Compute& compute) {
  const std::int64_t n = weight.cols;
  Matrix<double> out(n, n);
  for_row_blocks(compute, n, [&](std::int64_t row, std::int64_t rows) {
    compute.check_stop();
    lapack::multiply_transposed(weight.col_block(row, rows).transposed(),
                                weight.col_block(0, row + rows).transposed(),
                                out.view().block(row, rows, 0, row + rows));
  });
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t col = 0; col < row; ++col) out(col, row) = out(row, col);
  }
  return out;
}

Matrix<double> root_of_lower(MatrixView<const double> lower, double added, const Compute& compute) {
  compute.check_stop();
  const std::int64_t n = lower.rows;
  std::vector<double> copy(static_cast<std::size_t>(n * n));
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t col = 0; col <= row; ++col) {
      copy[static_cast<std::size_t>(col * n + row)] = lower(row, col) + (row == col ? added : 0);
    }
  }
  return std::move(lapack::pivoted_cholesky(n, copy.data()).l);
}

}  // namespace attnscope
