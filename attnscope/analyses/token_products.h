// What a head makes of every token, and of each what it copies.
#pragma once

#include <optional>
#include <span>

#include "attnscope/analysis/circuit.h"
#include "attnscope/core/matrix_view.h"
#include "attnscope/forward/token_bases.h"

namespace attnscope {

/// token_rows() of the basis times factorᵀ, a factor (r, D): (ids, r), block by block.
Matrix<double> tokens_times(const ForwardPass& pass, TokenBasis basis,
                            std::span<const std::int64_t> ids, MatrixView<const double> factor,
                            const Compute& compute);

/// Σ (x_t − mean) (u_t − mean)ᵀ over tokens, (D, D), of x in the basis of inputs and u of writes.
Matrix<double> inputs_times_writes(const ForwardPass& pass, TokenBasis inputs,
                                   std::span<const std::int64_t> ids, const Compute& compute);

/// Σ Re μ / Σ |μ| over the eigenvalues of the tokens' circuit U W_O W_V Xᵀ, (V, V), from `product`,
/// which is inputs_times_writes(): Elhage et al. 2021, with what layers read in X. `head`: factors
/// of OV. None of a head that does nothing.
std::optional<double> token_copying(const CircuitFactors& head, MatrixView<const double> product,
                                    const Compute& compute);

}  // namespace attnscope
