// Values of tridiagonal matrices, by Sturm sequences.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attnscope/numerics/instruction_set.h"

namespace attnscope::kernels {

/// A tridiagonal matrix of norm at most 1, its order even: off_squared[i] couples i − 1 and i; for
/// 0 < i it is not below 1e-36, but for a last row that was added and couples to nothing.
struct Tridiagonal {
  const double* diagonal;
  const double* off_squared;
  std::size_t order;
};

/// Points at which Sturm sequences run together.
inline constexpr std::size_t kPoints = 16;

/// The characteristic polynomial at points, as mantissa · 2^exponent, and how many eigenvalues lie
/// below each of them; (kPoints,).
void sturm_sequences(Kernels kernels, const Tridiagonal& matrix, const double* points,
                     double* mantissa, std::int64_t* exponent, std::int64_t* below);

/// Intervals that hold one eigenvalue each, what the polynomial is at their ends, and the number of
/// the eigenvalue; arrays of equal length.
struct Brackets {
  double *left, *right, *left_mantissa, *right_mantissa;
  std::int64_t *left_exponent, *right_exponent, *index;
  double* shift_factor;   // starts as kShift / width
  double* allowed_width;  // starts as 4 width; beyond it the next point is the middle
};
inline constexpr double kShift = 0.2;

/// Narrows `batches` (1, or 2, which cost less together) times kPoints brackets from `first` on,
/// `rounds` times, down to about `tolerance`.
void narrow_brackets(Kernels kernels, const Tridiagonal& matrix, const Brackets& brackets,
                     std::size_t first, std::size_t batches, int rounds, double tolerance);

}  // namespace attnscope::kernels
