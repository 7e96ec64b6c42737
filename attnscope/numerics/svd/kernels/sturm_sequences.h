// Eigenvalues of tridiagonal matrices by Sturm sequences.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attnscope/numerics/kernel_choice.h"

namespace attnscope::kernels {

/// A tridiagonal matrix of norm at most 1 and even order. off_squared[i] couples i − 1 and i; for 0
/// < i it is at least 1e-36, except for a padding row at the end, which couples to nothing.
struct Tridiagonal {
  const double* diagonal;
  const double* off_squared;
  std::size_t order;
};

/// Points that are evaluated together.
inline constexpr std::size_t kPoints = 16;

/// Evaluates the characteristic polynomial at `points`, as mantissa · 2^exponent, and counts the
/// eigenvalues below each; (kPoints,).
void sturm_sequences(Kernels kernels, const Tridiagonal& matrix, const double* points,
                     double* mantissa, std::int64_t* exponent, std::int64_t* below);

/// Intervals with one eigenvalue each, the polynomial at their ends, and the eigenvalue's index;
/// arrays of equal length.
struct Brackets {
  double *left, *right, *left_mantissa, *right_mantissa;
  std::int64_t *left_exponent, *right_exponent, *index;
  double* shift_factor;   // starts as kShift / width
  double* allowed_width;  // starts as 4 width; a wider bracket is bisected next
};
inline constexpr double kShift = 0.2;

/// Narrows `batches` times kPoints brackets from `first` on, `rounds` times, to about `tolerance`.
/// `batches` is 1 or 2; two together cost less.
void narrow_brackets(Kernels kernels, const Tridiagonal& matrix, const Brackets& brackets,
                     std::size_t first, std::size_t batches, int rounds, double tolerance);

}  // namespace attnscope::kernels
