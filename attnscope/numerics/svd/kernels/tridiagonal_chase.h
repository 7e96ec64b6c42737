// A symmetric band → a tridiagonal matrix.
#pragma once

#include <cstddef>

#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/numerics/svd/kernels/chase_sweeps.h"
#include "attnscope/numerics/svd/kernels/symmetric_band.h"

namespace attnscope::kernels {

/// Runs sweeps [first, last) of the chase from a band of order n, a multiple of kTile, to a
/// tridiagonal matrix. There is a sweep for each of the first n − 1 columns, in order. `first` is a
/// multiple of kSweeps; `last` too, or n − 1. After the last sweep, the tridiagonal matrix is in
/// the first two rows of the band.
void chase_to_tridiagonal(Kernels kernels, double* band, std::size_t n, std::size_t first,
                          std::size_t last);

}  // namespace attnscope::kernels
