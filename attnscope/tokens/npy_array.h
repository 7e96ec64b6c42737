// Arrays that NumPy saved: .npy files of float32 or float64.
#pragma once

#include <string>
#include <string_view>

#include "attnscope/core/signal.h"

namespace attnscope {

/// Values are rounded to float32. Throws Error(format) for what is cut, is in another order than
/// row by row, or holds other types. `where` names the file. Source: numpy/lib/_format_impl.py.
Signal read_npy(std::string_view bytes, const std::string& where);

}  // namespace attnscope
