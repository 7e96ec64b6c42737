#include "attnscope/numerics/products/second_moments.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "attnscope/numerics/lapack.h"

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

}  // namespace attnscope
