#include "attnscope/analyses/read_copying.h"

#include <numeric>
#include <utility>

#include "attnscope/analyses/circuit_weights.h"

namespace attnscope {
namespace {

std::vector<double> times(MatrixView<const double> matrix, std::span<const float> column) {
  std::vector<double> out(static_cast<std::size_t>(matrix.rows), 0.0);
  for (std::size_t row = 0; row < out.size(); ++row) {
    for (std::size_t col = 0; col < column.size(); ++col) {
      out[row] += matrix(static_cast<std::int64_t>(row), static_cast<std::int64_t>(col)) *
                  static_cast<double>(column[col]);
    }
  }
  return out;
}

}  // namespace

CopyingScores HeadCopying::of(const CircuitFactors& factors, std::int64_t layer, std::int64_t head,
                              TokenBasis inputs) {
  ConstantValues constants{.values = {}, .writes = all_tokens().writes};
  const auto& biases = values_of_bias(layer);
  if (!biases.empty()) constants.values = biases[static_cast<std::size_t>(head)];
  return {.token = token_copying(factors, product_of(inputs).view(), {}, compute_),
          .full = token_copying(factors, all_tokens().products.view(), constants, compute_)};
}

const Matrix<double>& HeadCopying::product_of(TokenBasis inputs) {
  Matrix<double>& product = products_[inputs];
  if (product.rows() == 0) product = centred(inputs_times_writes(pass_, inputs, naming_, compute_));
  return product;
}

const TokenProduct& HeadCopying::all_tokens() {
  if (!all_) {
    TokenIds ids(static_cast<std::size_t>(pass_.weights().head->rows.rows));
    std::iota(ids.begin(), ids.end(), 0);
    all_ = inputs_times_writes(pass_, TokenBasis::word, ids, compute_);
  }
  return *all_;
}

const std::vector<std::vector<double>>& HeadCopying::values_of_bias(std::int64_t layer) {
  const auto [found, is_new] = biases_.try_emplace(layer);
  const OptionalNorm& norm =
      pass_.weights().layers[static_cast<std::size_t>(layer)].attention_input;
  if (!is_new || !norm || norm->bias.empty()) return found->second;
  const LoadedCircuit loaded = load_circuit(pass_.model(), layer, Role::ov, {});
  for (std::int64_t head = 0; head < loaded.heads.heads; ++head) {
    found->second.push_back(times(head_factors(loaded.weights(), head).right, norm->bias));
  }
  return found->second;
}

}  // namespace attnscope
