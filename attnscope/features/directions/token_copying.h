// Products of a head with all tokens, and its token copying score.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/features/common/circuit_factors.h"
#include "attnscope/interventions/candidate_tokens.h"

namespace attnscope {

Matrix<double> in_float64(const Matrix<float>& rows);

/// Multiplies the rows of tokens in the basis by factorᵀ, for a factor (r, D): (ids, r), block by
/// block.
Matrix<double> tokens_times(const ForwardPass& pass, TokenBasis basis,
                            std::span<const std::int64_t> ids, MatrixView<const double> factor,
                            const Compute& compute);

/// Sums over tokens t, with x_t an input row and u_t an output row.
struct TokenProduct {
  Matrix<double> products;             // Σ x_t u_tᵀ, (D, D)
  std::vector<double> inputs, writes;  // Σ x_t, Σ u_t, (D,)
  std::int64_t tokens = 0;
};

TokenProduct inputs_times_writes(const ForwardPass& pass, TokenBasis inputs,
                                 std::span<const std::int64_t> ids, const Compute& compute);

/// Σ (x_t − mean) (u_t − mean)ᵀ.
Matrix<double> centered(TokenProduct product);

/// Σ Re μ / Σ |μ| over the eigenvalues of the token circuit U (W_O W_V Xᵀ), (V, V), computed from
/// `product` of X and U: Elhage et al. 2021. `head`: factors of OV. `constants`: the part of the
/// head's values that is independent of the token, (d_v,), and Σ u_t; empty: none. Empty for a zero
/// head.
struct ConstantValues {
  std::span<const double> values, writes;
};
std::optional<double> token_copying(const CircuitFactors& head, MatrixView<const double> product,
                                    const ConstantValues& constants, const Compute& compute);

// Whether heads copy the attended tokens, from the weights alone.

struct CopyingScores {
  std::optional<double> token;  // over candidate tokens, with their input rows, centered
  std::optional<double>
      full;  // Elhage et al. 2021: over all token embeddings, including norm biases
};

/// Computes the scores head by head. Products over the vocabulary are computed only once.
class HeadCopying {
 public:
  /// `naming`: candidate tokens. All arguments must outlive this object.
  HeadCopying(const ForwardPass& pass, const std::vector<std::int64_t>& naming,
              const Compute& compute)
      : pass_(pass), candidates_(naming), compute_(compute) {}

  /// `factors`: of the head's OV, with the preceding norm folded in and means removed. `inputs`:
  /// basis of the layer's input.
  CopyingScores of(const CircuitFactors& factors, std::int64_t layer, std::int64_t head,
                   TokenBasis inputs);

 private:
  const Matrix<double>& product_of(TokenBasis inputs);
  const TokenProduct& all_tokens();
  /// For each of the layer's heads, W_V times the bias of the preceding norm; empty without a bias.
  const std::vector<std::vector<double>>& values_of_bias(std::int64_t layer);

  const ForwardPass& pass_;
  const std::vector<std::int64_t>& candidates_;
  const Compute& compute_;
  std::map<TokenBasis, Matrix<double>> products_;
  std::optional<TokenProduct> all_;
  std::map<std::int64_t, std::vector<std::vector<double>>> biases_;  // by layer
};

}  // namespace attnscope
