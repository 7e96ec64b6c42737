// A tensor of a file: dtype, shape, and either its bytes or a source of its values.
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
  DType dtype = DType::f32;  // of a source: the dtype that its values are rounded to
  Shape shape;
  std::span<const std::byte> bytes = {};  // empty if there is a source
  /// Step from an element to the next along each axis, in elements, never negative. Empty:
  /// row-major.
  Shape strides = {};
  std::shared_ptr<const ValueSource> source = nullptr;
  std::string stored_as = {};  // a source's storage as output names it: "Q4_K"

  std::int64_t element_count() const {
    // The other sizes of an empty tensor are unchecked: their product may overflow.
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    return count;
  }

  /// The last axis, and all others together, as a ValueSource counts columns and rows.
  std::int64_t cols() const { return shape.empty() ? 1 : shape.back(); }
  std::int64_t rows() const { return cols() == 0 ? 0 : element_count() / cols(); }

  /// Step from an element to the next along the axis, in elements.
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

/// How the bytes are read: the dtype; for a source, its storage and the dtype that it rounds to.
std::string storage_text(const TensorView& tensor);

/// How many bytes of the files the tensor takes.
std::uint64_t stored_bytes(const TensorView& tensor);

/// All stretches of the files that hold it.
std::vector<std::span<const std::byte>> all_bytes(const TensorView& tensor);

}  // namespace attnscope
