// Small safetensors files, valid and invalid ones.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/tensor/tensor_view.h"

namespace attnscope::test {

struct TensorToWrite {
  std::string name;
  std::string dtype;  // as named in the file
  Shape shape;
  std::string bytes;  // little-endian elements, row-major
};

/// An F32 tensor with the values 0, 1, 2, … in storage order.
TensorToWrite counting_tensor(std::string name, Shape shape);

/// A tensor of any dtype with all bytes zero; `bits` per element.
TensorToWrite zero_tensor(std::string name, std::string dtype, int bits, Shape shape);

/// A complete file with the tensors in the given order.
std::string safetensors_bytes(const std::vector<TensorToWrite>& tensors,
                              const std::map<std::string, std::string>& metadata = {});

/// The length of `header`, `header`, and `payload_bytes` zero bytes of payload.
std::string safetensors_with_header(std::string_view header, std::size_t payload_bytes);

/// The first eight bytes of a file.
std::string header_length_bytes(std::uint64_t length);

}  // namespace attnscope::test
