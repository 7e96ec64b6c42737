// Options of `spectrum`, for callers that already have the matrix.
#pragma once

#include "attnscope/features/framework/arguments.h"
#include "attnscope/features/spectrum/run.h"

namespace attnscope {

/// The options for each matrix, from the arguments of `spectrum`.
Record spectrum_options(const Arguments& arguments);

}  // namespace attnscope
