// Helpers for calls of BLAS and LAPACK. For the sources of lapack.h only.
#pragma once

#include <cstdint>
#include <vector>

namespace attnscope::lapack {

/// Throws Error(unsupported) if the size exceeds BLAS's integers.
int to_int(std::int64_t size);

/// A leading dimension: at least 1, even for an empty matrix.
int leading(std::int64_t size);

/// Throws Error(numerical) if `routine` refused an argument: `info` < 0 means that argument number
/// -info was illegal, a defect of the caller.
void check_arguments(const char* routine, int info);

/// A workspace of the size that a routine asked for.
std::vector<double> workspace(double wanted);

}  // namespace attnscope::lapack
