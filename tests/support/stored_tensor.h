// Tensors of safetensors files, read without the library.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/program.h"

namespace attnscope::test {

/// A tensor of a safetensors file, read without the library.
struct StoredTensor {
  std::vector<std::int64_t> shape;
  std::vector<double> values;  // row-major, exact

  double at(std::int64_t row, std::int64_t col) const {
    return values[static_cast<std::size_t>(row * shape[1] + col)];
  }
};

inline double half_value(std::uint16_t bits) {
  const int sign = bits >> 15, exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return sign == 1 ? -size : size;
}

inline double bfloat_value(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

/// The header of a safetensors file without its __metadata__.
inline json tensor_headers(const std::filesystem::path& path) {
  const std::string file = read_file(path);
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  json header = json::parse(file.substr(sizeof length, length));
  header.erase("__metadata__");
  return header;
}

inline StoredTensor stored_tensor(const std::filesystem::path& path, const std::string& name) {
  const std::string file = read_file(path);
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  const json entry = json::parse(file.substr(sizeof length, length)).at(name);
  const std::string dtype = entry.at("dtype");
  const std::size_t begin = sizeof length + length + entry.at("data_offsets")[0].get<std::size_t>();
  const std::size_t end = sizeof length + length + entry.at("data_offsets")[1].get<std::size_t>();

  StoredTensor tensor{.shape = entry.at("shape").get<std::vector<std::int64_t>>()};
  for (std::size_t at = begin; at < end; at += dtype == "F32" ? 4 : 2) {
    float single = 0;
    std::uint16_t bits = 0;
    if (dtype == "F32") {
      std::memcpy(&single, file.data() + at, sizeof single);
      tensor.values.push_back(single);
    } else {
      std::memcpy(&bits, file.data() + at, sizeof bits);
      tensor.values.push_back(dtype == "F16" ? half_value(bits) : bfloat_value(bits));
    }
  }
  return tensor;
}

}  // namespace attnscope::test
