// What the calls of BLAS and LAPACK share, for the files behind lapack.h alone.
#pragma once

#include <cstdint>
#include <vector>

namespace attnscope::lapack {

/// Throws Error(unsupported) where the size is beyond the integers of BLAS.
int to_int(std::int64_t size);

/// A leading dimension: at least 1, also of a matrix without elements.
int leading(std::int64_t size);

/// Throws Error(numerical) where `routine` refused an argument: `info` is below 0 then, and
/// argument number -info was illegal, a defect of the caller.
void check_arguments(const char* routine, int info);

/// Of the size that a routine asked for.
std::vector<double> workspace(double wanted);

}  // namespace attnscope::lapack
