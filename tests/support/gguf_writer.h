// Builds GGUF files piece by piece, so that tests can write invalid ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope::test {

template <class T>
std::string number_bytes(T value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

inline std::string gguf_text(std::string_view text) {
  return number_bytes<std::uint64_t>(text.size()) + std::string(text);
}

/// Value types by their numbers in the file.
enum GgufTypeNumber : std::uint32_t {
  gguf_u8 = 0,
  gguf_u32 = 4,
  gguf_i32 = 5,
  gguf_f32 = 6,
  gguf_bool = 7,
  gguf_string = 8,
  gguf_array = 9,
  gguf_u64 = 10
};

/// A key, the type of its value, and the bytes of the value.
inline std::string gguf_pair(std::string_view key, std::uint32_t type, const std::string& value) {
  return gguf_text(key) + number_bytes(type) + value;
}

inline std::string gguf_array_of(std::uint32_t type, std::uint64_t count,
                                 const std::string& items) {
  return number_bytes(type) + number_bytes(count) + items;
}

/// `sizes`: in the order of the file, last axis first.
inline std::string gguf_entry(std::string_view name, const std::vector<std::uint64_t>& sizes,
                              std::uint32_t type, std::uint64_t offset) {
  std::string out = gguf_text(name) + number_bytes(static_cast<std::uint32_t>(sizes.size()));
  for (const std::uint64_t size : sizes) out += number_bytes(size);
  return out + number_bytes(type) + number_bytes(offset);
}

inline std::string gguf_head(std::uint64_t tensors, std::uint64_t values,
                             std::uint32_t version = 3) {
  return "GGUF" + number_bytes(version) + number_bytes(tensors) + number_bytes(values);
}

/// A complete file: values, entries, padding to 32 bytes, data.
inline std::string gguf_bytes(const std::vector<std::string>& values,
                              const std::vector<std::string>& entries, std::size_t data_bytes) {
  std::string out = gguf_head(entries.size(), values.size());
  for (const std::string& value : values) out += value;
  for (const std::string& entry : entries) out += entry;
  out.resize((out.size() + 31) / 32 * 32, '\0');
  return out + std::string(data_bytes, '\1');
}

}  // namespace attnscope::test
