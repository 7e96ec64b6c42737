// Tensors as a .safetensors file, written as they are made. Source: the format's description in
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

/// A tensor of a file that is written: its element type and its shape.
struct SavedTensor {
  std::string name;
  DType type = DType::f32;
  Shape shape;
};

/// The bytes that it takes in the file. Throws Error(unsupported) where they pass what a file can
/// hold.
std::uint64_t saved_bytes(const SavedTensor& tensor);

/// Writes the header, which needs all shapes, and then elements in the order of the tensors.
/// Tensors of larger elements should come first, as the format aligns elements so.
class SafetensorsWriter {
 public:
  /// `out` must outlive it. `metadata`: free texts in the header. Throws Error(unsupported) where
  /// sizes pass what a file can hold.
  SafetensorsWriter(std::vector<SavedTensor> tensors, std::ostream& out,
                    const std::map<std::string, std::string>& metadata = {});

  /// The next elements, row-major, any number: they may end one tensor and begin others of the
  /// same type. Of another type, or more than there are: std::logic_error.
  void write(std::span<const float> elements);
  void write(std::span<const std::int64_t> elements);
  /// The same of any type, as bytes of whole elements.
  void write(DType type, std::span<const std::byte> elements);

  /// All elements were written; else std::logic_error.
  void end();

 private:
  void take(DType type, std::uint64_t bytes);
  void skip_whole();

  std::vector<SavedTensor> tensors_;
  std::ostream& out_;
  std::size_t tensor_ = 0;  // that is being written
  std::uint64_t left_ = 0;  // bytes of it that are not
};

}  // namespace attnscope
