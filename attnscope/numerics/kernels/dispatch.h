// Selection of a function variant that is compiled once per instruction set.
#pragma once

#include <hwy/highway.h>

#include "attnscope/numerics/kernel_choice.h"

/// Selects the variant of a function, exported with HWY_EXPORT, for `kernels`. HWY_DYNAMIC_DISPATCH
/// would use Highway's own choice, which is global to the process.
#define ATTNSCOPE_KERNEL(kernels, function) (*HWY_DISPATCH_TABLE(function)[(kernels).table_index()])
