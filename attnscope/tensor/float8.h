// The 8-bit floating-point formats. Each has 256 values, so a table holds all of them.
#pragma once

#include <array>

#include "attnscope/tensor/dtype.h"

namespace attnscope {

/// The exact value of each bit pattern. Throws std::invalid_argument for a dtype that is not an
/// 8-bit float.
const std::array<float, 256>& float8_values(DType dtype);

}  // namespace attnscope
