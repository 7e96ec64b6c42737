// Small safetensors files, sound ones and broken ones.
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
  std::string dtype;  // as the file says it
  Shape shape;
  std::string bytes;  // little-endian elements, row-major
};

/// An F32 tensor with the values 0, 1, 2, … in storage order.
TensorToWrite counting_tensor(std::string name, Shape shape);

/// Any dtype, all bytes zero; `bits` per element.
TensorToWrite zero_tensor(std::string name, std::string dtype, int bits, Shape shape);

/// A whole file with the tensors in the order given.
std::string safetensors_bytes(const std::vector<TensorToWrite>& tensors,
                              const std::map<std::string, std::string>& metadata = {});

/// The length of `header`, `header`, and as many zero bytes of payload.
std::string safetensors_with_header(std::string_view header, std::size_t payload_bytes);

/// The eight bytes that a file starts with.
std::string header_length_bytes(std::uint64_t length);

}  // namespace attnscope::test
