// Arrays as NumPy saves them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "attnscope/base/model_inputs.h"

namespace attnscope::test {

/// float32 in row-major order.
inline std::string npy_bytes(const MediaInput& array) {
  std::string shape;
  for (const std::int64_t size : array.shape) shape += std::to_string(size) + ", ";
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((header.size() + 10) / 64 * 64 + 63 - 10 + 1, ' ');
  header.back() = '\n';
  std::string values(array.values.size() * sizeof(float), '\0');
  if (!values.empty()) std::memcpy(values.data(), array.values.data(), values.size());
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size() % 256) +
         static_cast<char>(header.size() / 256) + header + values;
}

}  // namespace attnscope::test
