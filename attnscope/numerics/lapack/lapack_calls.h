// Helpers for calls of BLAS and LAPACK, private to the sources of lapack.h.
#pragma once

#include <cstdint>
#include <vector>

namespace attnscope::lapack {

/// Converts a size to BLAS's integer type. Throws Error(unsupported) on overflow.
int to_int(std::int64_t size);

/// Returns a leading dimension: at least 1, even for an empty matrix.
int leading(std::int64_t size);

/// Throws Error(numerical) if `routine` rejected an argument. `info` < 0 means that argument number
/// -info was illegal, a bug of the caller.
void check_arguments(const char* routine, int info);

/// Returns a workspace of the size that a routine requested.
std::vector<double> workspace(double wanted);

}  // namespace attnscope::lapack
