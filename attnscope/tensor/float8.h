// The 8-bit floating-point formats. Each has 256 values: a table says all of them.
#pragma once

#include <array>

#include "attnscope/tensor/dtype.h"

namespace attnscope {

/// What each bit pattern stands for, exactly. Throws std::invalid_argument for a dtype that is no
/// 8-bit float.
const std::array<float, 256>& float8_values(DType dtype);

}  // namespace attnscope
