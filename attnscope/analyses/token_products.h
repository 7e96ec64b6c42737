// What a head makes of every token, and of each what it copies.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "attnscope/analysis/circuit.h"
#include "attnscope/core/matrix_view.h"
#include "attnscope/forward/token_bases.h"

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
Matrix<double> centred(TokenProduct product);

/// Σ Re μ / Σ |μ| over the eigenvalues of the tokens' circuit U (W_O W_V Xᵀ), (V, V), from
/// `product` of X and U: Elhage et al. 2021. `head`: factors of OV. `constants`: what the head's
/// values have whatever the token, (d_v,), and Σ u_t; empty: nothing. None of a head that does
/// nothing.
struct ConstantValues {
  std::span<const double> values, writes;
};
std::optional<double> token_copying(const CircuitFactors& head, MatrixView<const double> product,
                                    const ConstantValues& constants, const Compute& compute);

}  // namespace attnscope
