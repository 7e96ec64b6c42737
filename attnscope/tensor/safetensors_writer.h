// Writes tensors to a .safetensors file as they are computed. Source: the format description in
// safetensors/safetensors/README.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "attnscope/tensor/dtype.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// The element type and shape of a tensor to be written.
struct SavedTensor {
  std::string name;
  DType type = DType::f32;
  Shape shape;
};

/// Returns its size in the file in bytes. Throws Error(unsupported) if the size exceeds the limit
/// of a file.
std::uint64_t saved_bytes(const SavedTensor& tensor);

/// Writes the header, which needs all shapes, and then the elements in the order of the tensors.
/// Tensors with larger elements should come first, because the format requires aligned elements.
class SafetensorsWriter {
 public:
  /// `out` must outlive the writer. `metadata`: free texts in the header. Throws Error(unsupported)
  /// if a size exceeds the limit of a file.
  SafetensorsWriter(std::vector<SavedTensor> tensors, std::ostream& out,
                    const std::map<std::string, std::string>& metadata = {});

  /// Writes the next elements, row-major, any number of them: they may end one tensor and begin
  /// others of the same type. Throws std::logic_error for another type or too many elements.
  void write(std::span<const float> elements);
  void write(std::span<const std::int64_t> elements);
  /// Writes elements of any type, as bytes of whole elements.
  void write(DType type, std::span<const std::byte> elements);

  /// Throws std::logic_error unless all elements were written.
  void end();

 private:
  void take(DType type, std::uint64_t bytes);
  void skip_whole();

  std::vector<SavedTensor> tensors_;
  std::ostream& out_;
  std::size_t tensor_ = 0;  // index of the current tensor
  std::uint64_t left_ = 0;  // bytes of the current tensor that are still missing
};

}  // namespace attnscope
