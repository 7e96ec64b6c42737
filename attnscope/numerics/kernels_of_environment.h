// What front ends give to every run as its kernels.
#pragma once

#include "attnscope/numerics/instruction_set.h"

namespace attnscope {

/// Those that ATTNSCOPE_KERNELS names, which holds them down for tests and comparisons; the best
/// without it. Throws Error(usage) as Kernels::named() does.
Kernels kernels_of_environment();

}  // namespace attnscope
