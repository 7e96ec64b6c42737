// An upper band → a bidiagonal matrix.
#pragma once

#include <cstddef>

#include "attnscope/numerics/instruction_set.h"
#include "attnscope/numerics/singular_values/kernels/chase_sweeps.h"
#include "attnscope/numerics/singular_values/kernels/upper_band.h"

namespace attnscope::kernels {

/// Sweeps [first, last) of those that chase the upper band of order n, a multiple of kSide, to a
/// bidiagonal matrix; a sweep for each of the first n − 1 rows, one after the other. `first` is a
/// multiple of kSweeps, and so is `last`, or it is n − 1. In the end the matrix is on the diagonal
/// and above it.
void chase_upper_band(Kernels kernels, double* band, std::size_t n, std::size_t first,
                      std::size_t last);

}  // namespace attnscope::kernels
