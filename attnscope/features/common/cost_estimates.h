// Cost estimates: FLOPs, for the order of work and the remaining time, and memory, for the budget.
#pragma once

#include <cstdint>
#include <string>

#include "attnscope/model/model.h"

namespace attnscope {

/// FLOPs of m n² for the Gram matrix plus 4/3 n³ for its eigenvalues; n is the short side.
double spectrum_flops(double rows, double cols);

/// Size of a float64 matrix.
constexpr std::uint64_t float64_bytes(std::int64_t rows, std::int64_t cols) {
  return 8 * static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(cols);
}

/// Size of the packed blocks of BLAS per thread.
inline constexpr std::uint64_t kPackedBytes = 16 << 20;

/// Memory that singular_values() needs in addition to a matrix of this shape, if its default solver
/// converges.
std::uint64_t spectrum_bytes(std::int64_t rows, std::int64_t cols);

/// The same for the matrix of a role. Float64 weights need more memory.
std::uint64_t role_spectrum_bytes(const Model& model, std::int64_t layer, Role role,
                                  std::int64_t rows, std::int64_t cols);

/// Memory that the singular values of a product need in addition to its two factors of shape
/// (inner, width).
std::uint64_t product_spectrum_bytes(const Model& model, std::int64_t layer, Role role,
                                     std::int64_t inner);

/// Size of the result of read_matrix() for a role that is not a product.
std::uint64_t decoded_bytes(const Model& model, std::int64_t layer, Role role);

/// Memory for a matrix of the model and its spectrum together, including reading it.
std::uint64_t matrix_spectrum_bytes(const Model& model, std::int64_t layer, Role role);

/// Size of a float32 copy of the weights for running the model; for a decoder including its
/// encoder. 0 if that exceeds half of `memory_bytes`: weights are then decoded at each use.
std::uint64_t copied_weights_bytes(const Model& model, std::uint64_t memory_bytes);

/// Size of both factors of a circuit in float64.
std::uint64_t circuit_factor_bytes(const Dimensions& dimensions, Role circuit);

/// Number of rows of the factors of a circuit summed over heads.
std::int64_t summed_rank(const Dimensions& dimensions, Role circuit);

}  // namespace attnscope
