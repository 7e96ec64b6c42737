#include "tests/support/safetensors_writer.h"

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

namespace attnscope::test {

static_assert(std::endian::native == std::endian::little, "the tests write native numbers");

TensorToWrite counting_tensor(std::string name, Shape shape) {
  const TensorView shaped{.shape = shape};
  std::vector<float> values(static_cast<std::size_t>(shaped.element_count()));
  for (std::size_t index = 0; index < values.size(); ++index) {
    values[index] = static_cast<float>(index);
  }
  std::string bytes(values.size() * sizeof(float), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return {std::move(name), "F32", std::move(shape), std::move(bytes)};
}

TensorToWrite zero_tensor(std::string name, std::string dtype, int bits, Shape shape) {
  const TensorView shaped{.shape = shape};
  const auto bytes = static_cast<std::size_t>(shaped.element_count() * bits / 8);
  return {std::move(name), std::move(dtype), std::move(shape), std::string(bytes, '\0')};
}

std::string safetensors_bytes(const std::vector<TensorToWrite>& tensors,
                              const std::map<std::string, std::string>& metadata) {
  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::string payload;
  for (const TensorToWrite& tensor : tensors) {
    const std::size_t begin = payload.size();
    payload += tensor.bytes;
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {begin, payload.size()}}};
  }
  const std::string text = header.dump();
  return header_length_bytes(text.size()) + text + payload;
}

std::string safetensors_with_header(std::string_view header, std::size_t payload_bytes) {
  return header_length_bytes(header.size()) + std::string(header) +
         std::string(payload_bytes, '\0');
}

std::string header_length_bytes(std::uint64_t length) {
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes;
}

}  // namespace attnscope::test
