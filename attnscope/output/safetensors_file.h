// Tensors as a .safetensors file, written as they are made. Source: the format's description in
// safetensors/safetensors/README.md.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace attnscope {

/// A tensor of a file that is written: its element type and its shape.
struct SavedTensor {
  enum class Type { float32, int64 };

  std::string name;
  Type type = Type::float32;
  std::vector<std::int64_t> shape;
};

/// Writes the header, which needs all shapes, and then elements in the order of the tensors.
/// Tensors of int64 should come first, as the format aligns elements so.
class SafetensorsWriter {
 public:
  /// `out` must outlive it. Throws Error(unsupported) where sizes pass what a file can hold.
  SafetensorsWriter(std::vector<SavedTensor> tensors, std::ostream& out);

  /// The next elements, row-major, of the tensor that is being written: any number, but not past
  /// its end. Of another type or too many: std::logic_error.
  void write(std::span<const float> elements);
  void write(std::span<const std::int64_t> elements);

  /// All elements were written; else std::logic_error.
  void end();

 private:
  void take(SavedTensor::Type type, std::size_t count);
  void skip_whole();

  std::vector<SavedTensor> tensors_;
  std::ostream& out_;
  std::size_t tensor_ = 0;  // that is being written
  std::uint64_t left_ = 0;  // elements of it that are not
};

}  // namespace attnscope
