// NumPy's .npy, version 1.0. Source: numpy/lib/_format_impl.py.
#pragma once

#include <ostream>

#include "attnscope/base/matrix_view.h"

namespace attnscope {

/// Writes a (rows, cols) array for `numpy.load`: little-endian float32 or float64, C order.
void write_npy(const WeightMatrix& matrix, std::ostream& out);

}  // namespace attnscope
