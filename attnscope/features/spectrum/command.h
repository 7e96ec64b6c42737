// What `spectrum` asks for, for those who have the matrix already.
#pragma once

#include "attnscope/features/framework/arguments.h"
#include "attnscope/features/spectrum/run.h"

namespace attnscope {

/// What the arguments of `spectrum` ask of each matrix.
Record spectrum_options(const Arguments& arguments);

}  // namespace attnscope
