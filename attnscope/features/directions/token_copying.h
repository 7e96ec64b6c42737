// What a head makes of every token, and of each what it copies.
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

/// Rows of tokens in the basis times factorᵀ, a factor (r, D): (ids, r), block by block.
Matrix<double> tokens_times(const ForwardPass& pass, TokenBasis basis,
                            std::span<const std::int64_t> ids, MatrixView<const double> factor,
                            const Compute& compute);

/// Sums over tokens t, of x in a basis of inputs and u of writes.
struct TokenProduct {
  Matrix<double> products;             // Σ x_t u_tᵀ, (D, D)
  std::vector<double> inputs, writes;  // Σ x_t, Σ u_t, (D,)
  std::int64_t tokens = 0;
};

TokenProduct inputs_times_writes(const ForwardPass& pass, TokenBasis inputs,
                                 std::span<const std::int64_t> ids, const Compute& compute);

/// Σ (x_t − mean) (u_t − mean)ᵀ.
Matrix<double> centered(TokenProduct product);

/// Σ Re μ / Σ |μ| over the eigenvalues of the tokens' circuit U (W_O W_V Xᵀ), (V, V), from
/// `product` of X and U: Elhage et al. 2021. `head`: factors of OV. `constants`: what the head's
/// values have whatever the token, (d_v,), and Σ u_t; empty: nothing. None of a head that does
/// nothing.
struct ConstantValues {
  std::span<const double> values, writes;
};
std::optional<double> token_copying(const CircuitFactors& head, MatrixView<const double> product,
                                    const ConstantValues& constants, const Compute& compute);

// Whether heads copy the tokens that they read, from the weights alone.

struct CopyingScores {
  std::optional<double> token;  // of what its layer reads of tokens that may name, less their mean
  std::optional<double> full;  // Elhage et al. 2021: of all tokens' embeddings, biases of norms too
};

/// Of one head after another. Products over the vocabulary are computed once.
class HeadCopying {
 public:
  /// `naming`: the tokens that may name. All must outlive this.
  HeadCopying(const ForwardPass& pass, const TokenIds& naming, const Compute& compute)
      : pass_(pass), candidates_(naming), compute_(compute) {}

  /// `factors`: of the head's OV, the norm before it folded in and its means taken out. `inputs`:
  /// what its layer reads.
  CopyingScores of(const CircuitFactors& factors, std::int64_t layer, std::int64_t head,
                   TokenBasis inputs);

 private:
  const Matrix<double>& product_of(TokenBasis inputs);
  const TokenProduct& all_tokens();
  /// Of each of the layer's heads, W_V times the bias of the norm before it; empty without one.
  const std::vector<std::vector<double>>& values_of_bias(std::int64_t layer);

  const ForwardPass& pass_;
  const TokenIds& candidates_;
  const Compute& compute_;
  std::map<TokenBasis, Matrix<double>> products_;
  std::optional<TokenProduct> all_;
  std::map<std::int64_t, std::vector<std::vector<double>>> biases_;  // by layer
};

}  // namespace attnscope
