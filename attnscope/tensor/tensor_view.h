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

/// The values of a tensor that is block-quantized, scaled, packed, or stored in another order. The
/// tensor counts as (rows, cols): cols is its last axis, rows are all others. A tensor with one
/// axis is one row. The underlying bytes must outlive the source.
class ValueSource {
 public:
  virtual ~ValueSource() = default;

  /// Decodes a block with the shape of `out` that starts at (first_row, first_col). The values are
  /// exactly those of the format's reference library. `out` has contiguous rows. Thread-safe.
  virtual void decode(std::int64_t first_row, std::int64_t first_col,
                      MatrixView<float> out) const = 0;

  /// Returns the byte ranges that decode() of such a block reads, including codes and scales.
  virtual std::vector<std::span<const std::byte>> reads(std::int64_t first_row, std::int64_t rows,
                                                        std::int64_t first_col,
                                                        std::int64_t cols) const = 0;

  /// Decodes the same block as float64. Sources that compute in float64 return it unrounded.
  virtual void decode_float64(std::int64_t first_row, std::int64_t first_col,
                              MatrixView<double> out) const;

  /// decode() or decode_float64().
  void decode_as(std::int64_t first_row, std::int64_t first_col, MatrixView<float> out) const {
    decode(first_row, first_col, out);
  }
  void decode_as(std::int64_t first_row, std::int64_t first_col, MatrixView<double> out) const {
    decode_float64(first_row, first_col, out);
  }

  /// Returns everything that the values depend on besides the bytes of reads() and the storage
  /// format. Part of the tensor's hash.
  virtual std::string parameters() const { return ""; }
};

using Shape = std::vector<std::int64_t>;

/// Either little-endian elements, which may start at any byte, or a source of values. Valid as long
/// as the file is mapped. The reader that created the view has checked that every element lies in
/// `bytes`.
struct TensorView {
  DType dtype = DType::f32;  // for a source: the dtype that its values are rounded to
  Shape shape;
  std::span<const std::byte> bytes = {};  // empty if there is a source
  /// The step from one element to the next along each axis, in elements, never negative. Empty:
  /// row-major.
  Shape strides = {};
  std::shared_ptr<const ValueSource> source = nullptr;
  std::string stored_as = {};  // the storage format of a source, as printed: "Q4_K"

  std::int64_t element_count() const {
    // The other sizes of an empty tensor are unchecked: their product may overflow.
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    return count;
  }

  /// Returns the size of the last axis, and the product of all others. A ValueSource counts columns
  /// and rows the same way.
  std::int64_t cols() const { return shape.empty() ? 1 : shape.back(); }
  std::int64_t rows() const { return cols() == 0 ? 0 : element_count() / cols(); }

  /// Returns the step from one element to the next along the axis, in elements.
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

/// Returns the storage format: the dtype; for a source, its storage format and the dtype that it
/// rounds to.
std::string storage_text(const TensorView& tensor);

/// Returns the number of bytes that the tensor takes in the files.
std::uint64_t stored_bytes(const TensorView& tensor);

/// Returns all byte ranges of the files that contain the tensor.
std::vector<std::span<const std::byte>> all_bytes(const TensorView& tensor);

// Byte ranges of a part of a table.

/// Returns bytes [begin, end) of each of these rows of `row_bytes` bytes. Complete rows are
/// returned as a single range.
std::vector<std::span<const std::byte>> row_stretches(std::span<const std::byte> table,
                                                      std::int64_t row_bytes,
                                                      std::int64_t first_row, std::int64_t rows,
                                                      std::int64_t begin, std::int64_t end);

}  // namespace attnscope
