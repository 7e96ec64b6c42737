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

#include "attnscope/base/matrix_view.h"
#include "attnscope/tensor/dtype.h"

namespace attnscope {

// Values that are not stored one by one in a file.

/// The values of a tensor that is quantised in blocks, scaled, packed, or stored in another order.
/// The tensor counts as (rows, cols): cols is its last axis, rows are all others; a tensor of one
/// axis is one row. The bytes that it reads must outlive it.
class ValueSource {
 public:
  virtual ~ValueSource() = default;

  /// Decodes the block of out's shape that starts at (first_row, first_col) to exactly the values
  /// of the format's reference library. `out` has contiguous rows. Several threads may call it at
  /// the same time.
  virtual void decode(std::int64_t first_row, std::int64_t first_col,
                      MatrixView<float> out) const = 0;

  /// The bytes of files that decode() of such a block reads: codes, scales and all others.
  virtual std::vector<std::span<const std::byte>> reads(std::int64_t first_row, std::int64_t rows,
                                                        std::int64_t first_col,
                                                        std::int64_t cols) const = 0;
};

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

// Which bytes a part of a table occupies.

/// Bytes [begin, end) of each of these rows of `row_bytes` bytes. Whole rows are returned as one
/// stretch.
std::vector<std::span<const std::byte>> row_stretches(std::span<const std::byte> table,
                                                      std::int64_t row_bytes,
                                                      std::int64_t first_row, std::int64_t rows,
                                                      std::int64_t begin, std::int64_t end);

}  // namespace attnscope
