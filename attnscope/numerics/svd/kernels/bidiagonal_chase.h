// An upper band → a bidiagonal matrix.
#pragma once

#include <cstddef>

#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/numerics/svd/kernels/chase_sweeps.h"
#include "attnscope/numerics/svd/kernels/upper_band.h"

namespace attnscope::kernels {

/// Runs sweeps [first, last) of the chase from an upper band of order n, a multiple of kSide, to a
/// bidiagonal matrix. There is a sweep for each of the first n − 1 rows, in order. `first` is a
/// multiple of kSweeps; `last` too, or n − 1. After the last sweep, the bidiagonal matrix is on the
/// diagonal and above it.
void chase_upper_band(Kernels kernels, double* band, std::size_t n, std::size_t first,
                      std::size_t last);

}  // namespace attnscope::kernels
