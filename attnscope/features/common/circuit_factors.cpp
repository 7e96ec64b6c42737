#include "attnscope/features/common/circuit_factors.h"

#include "attnscope/base/heads.h"

namespace attnscope {
namespace {

/// The rows of one head, (r, D): W_Q,h, or W_O,hᵀ.
MatrixView<const double> left_of_head(const CircuitWeights& weights, std::int64_t query_head) {
  const Role left = factors_of(weights.circuit).front();
  const auto head = head_slice(weights.left, left, query_head, weights.heads);
  return left == Role::output ? head.transposed() : head;
}

}  // namespace

CircuitFactors head_factors(const CircuitWeights& weights, std::int64_t query_head) {
  const Role right = factors_of(weights.circuit).back();
  return {left_of_head(weights, query_head),
          head_slice(weights.right, right, weights.heads.kv_head(query_head), weights.heads)};
}

Matrix<double> summed_left_factor(const CircuitWeights& weights) {
  const std::int64_t inner = weights.heads.inner_dim(weights.circuit);
  Matrix<double> sum(weights.right.rows, left_of_head(weights, 0).cols);
  for (std::int64_t head = 0; head < weights.heads.heads; ++head) {
    const MatrixView<const double> left = left_of_head(weights, head);
    const bool first_of_group = head % weights.heads.group_size() == 0;
    const std::int64_t first_row = weights.heads.kv_head(head) * inner;
    for (std::int64_t row = 0; row < inner; ++row) {
      for (std::int64_t col = 0; col < left.cols; ++col) {
        double& entry = sum(first_row + row, col);
        entry = (first_of_group ? 0 : entry) + left(row, col);
      }
    }
  }
  return sum;
}

}  // namespace attnscope
