// What work will cost: arithmetic, for its order and the time left, and memory, for the budget.
#pragma once

#include <cstdint>
#include <string>

#include "attnscope/model/model.h"

namespace attnscope {

/// m n² for the Gram matrix and 4/3 n³ for its eigenvalues; n the short side.
double spectrum_flops(double rows, double cols);

/// A matrix of float64.
constexpr std::uint64_t float64_bytes(std::int64_t rows, std::int64_t cols) {
  return 8 * static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(cols);
}

/// What BLAS packs for one thread.
inline constexpr std::uint64_t kPackedBytes = 16 << 20;

/// What singular_values() holds beside a matrix of that shape, where its usual solver converges.
std::uint64_t spectrum_bytes(std::int64_t rows, std::int64_t cols);

/// The same for a matrix that the role's weights make: float64 weights take more.
std::uint64_t role_spectrum_bytes(const Model& model, std::int64_t layer, Role role,
                                  std::int64_t rows, std::int64_t cols);

/// What the singular values of a product take next to its two factors of the shape (inner, width).
std::uint64_t product_spectrum_bytes(const Model& model, std::int64_t layer, Role role,
                                     std::int64_t inner);

/// What read_matrix() returns for a role that is no product.
std::uint64_t decoded_bytes(const Model& model, std::int64_t layer, Role role);

/// What a matrix of the model and its spectrum take together, from reading it on.
std::uint64_t matrix_spectrum_bytes(const Model& model, std::int64_t layer, Role role);

/// What a copy of the weights in float32 takes for running the model, of a decoder with its
/// encoder, where it may be half of `memory_bytes`; 0 where it may not: they are then decoded each
/// time.
std::uint64_t copied_weights_bytes(const Model& model, std::uint64_t memory_bytes);

/// Both factors of a circuit in float64.
std::uint64_t circuit_factor_bytes(const Dimensions& dimensions, Role circuit);

/// The rows of the factors whose product is a circuit summed over heads.
std::int64_t summed_rank(const Dimensions& dimensions, Role circuit);

}  // namespace attnscope
