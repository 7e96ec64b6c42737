// A symmetric band → a tridiagonal matrix.
#pragma once

#include <cstddef>

#include "attnscope/numerics/instruction_set.h"
#include "attnscope/numerics/singular_values/kernels/chase_sweeps.h"
#include "attnscope/numerics/singular_values/kernels/symmetric_band.h"

namespace attnscope::kernels {

/// Sweeps [first, last) of those that chase the band of order n, a multiple of kTile, to a
/// tridiagonal matrix; a sweep for each of the first n − 1 columns, one after the other. `first` is
/// a multiple of kSweeps, and so is `last`, or it is n − 1. In the end the matrix is in the first
/// two rows of the band.
void chase_to_tridiagonal(Kernels kernels, double* band, std::size_t n, std::size_t first,
                          std::size_t last);

}  // namespace attnscope::kernels
