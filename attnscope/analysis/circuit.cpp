#include "attnscope/analysis/circuit.h"

#include "attnscope/analysis/heads.h"

namespace attnscope {
namespace {

/// (r, D): W_Q,h, or W_O,hᵀ.
MatrixView<const double> left_of_head(const CircuitWeights& weights, std::int64_t query_head) {
  if (weights.circuit == Role::qk) {
    return head_slice(weights.left, Role::query, query_head, weights.heads);
  }
  return head_slice(weights.left, Role::output, query_head, weights.heads).transposed();
}

}  // namespace

CircuitFactors head_factors(const CircuitWeights& weights, std::int64_t query_head) {
  const Role right = weights.circuit == Role::qk ? Role::key : Role::value;
  return {left_of_head(weights, query_head),
          head_slice(weights.right, right, weights.heads.kv_head(query_head), weights.heads)};
}

Matrix<double> summed_left_factor(const CircuitWeights& weights) {
  const std::int64_t inner =
      weights.circuit == Role::qk ? weights.heads.head_dim : weights.heads.value_dim;
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
