// A tensor as it lies in a file: dtype, shape, and its bytes or what gives its values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/tensor/dtype.h"
#include "attnscope/tensor/value_source.h"

namespace attnscope {

using Shape = std::vector<std::int64_t>;

/// Little-endian elements, which may start at any byte, or a source of values. Valid as long as the
/// file stays mapped. The reader that made it has checked that every element lies in `bytes`.
struct TensorView {
  DType dtype = DType::f32;  // of a source: what its values are rounded to
  Shape shape;
  std::span<const std::byte> bytes = {};  // empty where there is a source
  /// From an element to the next along each axis, in elements, none negative; empty: row-major.
  Shape strides = {};
  std::shared_ptr<const ValueSource> source = nullptr;
  std::string stored_as = {};  // what the output calls a source's storage, "Q4_K"

  std::int64_t element_count() const {
    // The other sizes of an empty tensor are unchecked: their product may not fit.
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    return count;
  }

  /// The last axis, and all others together: as a source sees the tensor.
  std::int64_t cols() const { return shape.empty() ? 1 : shape.back(); }
  std::int64_t rows() const { return cols() == 0 ? 0 : element_count() / cols(); }

  /// From an element to the next along the axis, in elements.
  std::int64_t stride(std::size_t axis) const {
    if (!strides.empty()) return strides[axis];
    std::int64_t step = 1;
    for (std::size_t later = axis + 1; later < shape.size(); ++later) step *= shape[later];
    return step;
  }

  std::string_view storage_name() const {
    return stored_as.empty() ? dtype_name(dtype) : std::string_view(stored_as);
  }
};

/// What bytes are read as: the dtype; of a source, its storage and what its values are rounded to.
std::string storage_text(const TensorView& tensor);

/// What the tensor takes of its files.
std::uint64_t stored_bytes(const TensorView& tensor);

/// All stretches of the files that hold it.
std::vector<std::span<const std::byte>> all_bytes(const TensorView& tensor);

}  // namespace attnscope
