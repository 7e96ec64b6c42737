// Arrays saved by NumPy: .npy files of float32, float64 or bool.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/model_inputs.h"

namespace attnscope {

/// Values are rounded to float32. Throws Error(format) for a truncated file, another order than
/// row-major, or another type. `where` names the file. Source: numpy/lib/_format_impl.py.
MediaInput read_npy(std::string_view bytes, const std::string& where);

struct NpyBools {
  std::vector<std::int64_t> shape;
  std::vector<bool> values;  // row-major
};

/// An array of bool, stored row by row or column by column (Fortran order). Throws Error(format)
/// for a truncated file or another type.
NpyBools read_npy_bools(std::string_view bytes, const std::string& where);

}  // namespace attnscope
