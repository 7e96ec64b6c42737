#include "attnscope/features/directions/token_copying.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "attnscope/features/circuits/measures.h"
#include "attnscope/features/common/circuit_weights.h"
#include "attnscope/numerics/products/dense_products.h"
#include "attnscope/numerics/products/product_factor.h"

namespace attnscope {
namespace {

constexpr std::int64_t kTokensAtOnce = 2048;

/// Calls visit(index of the first token, token ids).
template <class Visit>
void for_tokens(std::span<const std::int64_t> ids, const Compute& compute, const Visit& visit) {
  for (std::int64_t first = 0; first < std::ssize(ids); first += kTokensAtOnce) {
    compute.check_stop();
    const auto some = std::min(kTokensAtOnce, std::ssize(ids) - first);
    const auto part = ids.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(some));
    visit(first, TokenIds(part.begin(), part.end()));
  }
}

void add_rows(const Matrix<double>& rows, std::vector<double>& sums) {
  sums.resize(static_cast<std::size_t>(rows.cols()), 0.0);
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    for (std::size_t col = 0; col < sums.size(); ++col) {
      sums[col] += rows(row, static_cast<std::int64_t>(col));
    }
  }
}

}  // namespace

Matrix<double> in_float64(const Matrix<float>& rows) {
  Matrix<double> out(rows.rows(), rows.cols());
  std::copy_n(rows.data(), rows.rows() * rows.cols(), out.data());
  return out;
}

Matrix<double> tokens_times(const ForwardPass& pass, TokenBasis basis,
                            std::span<const std::int64_t> ids, MatrixView<const double> factor,
                            const Compute& compute) {
  const TokenRows tokens(pass);
  Matrix<double> out(std::ssize(ids), factor.rows);
  for_tokens(ids, compute, [&](std::int64_t first, const TokenIds& some) {
    const Matrix<double> rows = in_float64(tokens.of(basis, some, compute));
    const Matrix<double> products = multiply_transposed(rows.view(), factor, compute);
    std::copy_n(products.data(), products.rows() * products.cols(), &out(first, 0));
  });
  return out;
}

TokenProduct inputs_times_writes(const ForwardPass& pass, TokenBasis inputs,
                                 std::span<const std::int64_t> ids, const Compute& compute) {
  const TokenRows tokens(pass);
  TokenProduct out{.products = {}, .inputs = {}, .writes = {}, .tokens = std::ssize(ids)};
  for_tokens(ids, compute, [&](std::int64_t, const TokenIds& some) {
    const Matrix<double> x = in_float64(tokens.of(inputs, some, compute));
    const Matrix<double> u = in_float64(tokens.of(TokenBasis::write, some, compute));
    add_rows(x, out.inputs);
    add_rows(u, out.writes);
    Matrix<double> product =
        multiply_transposed(x.view().transposed(), u.view().transposed(), compute);
    if (out.products.rows() == 0) {
      out.products = std::move(product);
      return;
    }
    for (std::int64_t at = 0; at < product.rows() * product.cols(); ++at) {
      out.products.data()[at] += product.data()[at];
    }
  });
  return out;
}

Matrix<double> centered(TokenProduct product) {
  Matrix<double> out = std::move(product.products);
  for (std::int64_t row = 0; row < out.rows(); ++row) {
    const double mean =
        product.inputs[static_cast<std::size_t>(row)] / static_cast<double>(product.tokens);
    for (std::int64_t col = 0; col < out.cols(); ++col) {
      out(row, col) -= mean * product.writes[static_cast<std::size_t>(col)];
    }
  }
  return out;
}

std::optional<double> token_copying(const CircuitFactors& head, MatrixView<const double> product,
                                    const ConstantValues& constants, const Compute& compute) {
  // The nonzero eigenvalues of U W_O W_V Xᵀ are those of W_O (W_V Xᵀ U).
  Matrix<double> right = multiply_transposed(head.right, product.transposed(), compute);
  for (std::size_t row = 0; row < constants.values.size(); ++row) {
    for (std::size_t col = 0; col < constants.writes.size(); ++col) {
      right(static_cast<std::int64_t>(row), static_cast<std::int64_t>(col)) +=
          constants.values[row] * constants.writes[col];
    }
  }
  return measure_circuit(make_product_factor(head.left, /*with_values=*/true, compute),
                         make_product_factor(right.view(), /*with_values=*/true, compute),
                         /*with_eigenvalues=*/true, compute)
      .copying_score;
}

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
  if (product.rows() == 0)
    product = centered(inputs_times_writes(pass_, inputs, candidates_, compute_));
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
