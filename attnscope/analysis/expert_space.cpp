#include "attnscope/analysis/expert_space.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {
namespace {

double squared_norm(const Matrix<double>& matrix) {
  const double* values = matrix.data();
  double sum = 0;
  for (std::int64_t at = 0; at < matrix.rows() * matrix.cols(); ++at)
    sum += values[at] * values[at];
  return sum;
}

PairSimilarity summed_up(const std::vector<double>& pairs) {
  if (pairs.empty()) return {};
  PairSimilarity out{.least = pairs.front(), .most = pairs.front()};
  for (const double pair : pairs) {
    out.mean += pair / static_cast<double>(pairs.size());
    out.least = std::min(out.least, pair);
    out.most = std::max(out.most, pair);
  }
  return out;
}

}  // namespace

PairSimilarity block_similarity(MatrixView<const double> stacked, std::int64_t count,
                                const Compute& compute) {
  const std::int64_t rows = stacked.rows / count;
  const auto block = [&](std::int64_t at) { return stacked.row_block(at * rows, rows); };
  std::vector<double> norms;
  for (std::int64_t at = 0; at < count; ++at) {
    norms.push_back(std::sqrt(squared_norm(multiply_transposed(block(at), block(at), compute))));
  }
  std::vector<double> pairs;
  for (std::int64_t a = 0; a < count; ++a) {
    for (std::int64_t b = a + 1; b < count; ++b) {
      compute.check_stop();
      const double product = squared_norm(multiply_transposed(block(a), block(b), compute));
      const double norm = norms[static_cast<std::size_t>(a)] * norms[static_cast<std::size_t>(b)];
      pairs.push_back(norm > 0 ? product / norm : 0);
    }
  }
  return summed_up(pairs);
}

double expected_block_similarity(std::int64_t rows, std::int64_t width) {
  return static_cast<double>(rows) / static_cast<double>(rows + width + 1);
}

PairSimilarity row_cosines(MatrixView<const double> rows) {
  const auto product = [&](std::int64_t a, std::int64_t b) {
    double sum = 0;
    for (std::int64_t col = 0; col < rows.cols; ++col) sum += rows(a, col) * rows(b, col);
    return sum;
  };
  std::vector<double> norms, pairs;
  for (std::int64_t row = 0; row < rows.rows; ++row) norms.push_back(std::sqrt(product(row, row)));
  for (std::int64_t a = 0; a < rows.rows; ++a) {
    for (std::int64_t b = a + 1; b < rows.rows; ++b) {
      const double norm = norms[static_cast<std::size_t>(a)] * norms[static_cast<std::size_t>(b)];
      pairs.push_back(norm > 0 ? product(a, b) / norm : 0);
    }
  }
  return summed_up(pairs);
}

}  // namespace attnscope
