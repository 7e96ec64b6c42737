// A tensor as it lies in a file: dtype, shape, bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/tensor/dtype.h"

namespace attnscope {

using Shape = std::vector<std::int64_t>;

/// Row-major and little-endian; may start at any byte. Valid as long as the file stays mapped.
/// The reader that made it has checked that `bytes` holds exactly the elements of `shape`.
struct TensorView {
  DType dtype = DType::f32;
  Shape shape;
  std::span<const std::byte> bytes;

  std::int64_t element_count() const {
    // The other sizes of an empty tensor are unchecked: their product may not fit.
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    return count;
  }
};

}  // namespace attnscope
