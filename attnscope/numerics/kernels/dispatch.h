// From a function that is compiled once per instruction set to the one that was asked for.
#pragma once

#include <hwy/highway.h>

#include "attnscope/numerics/instruction_set.h"

/// The function of that name, exported with HWY_EXPORT, for `kernels`; HWY_DYNAMIC_DISPATCH would
/// take Highway's own choice, which is the process's.
#define ATTNSCOPE_KERNEL(kernels, function) (*HWY_DISPATCH_TABLE(function)[(kernels).table_index()])
