// Bytes that C++ and the Rust crate pass to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "attnscope/base/rust_bytes.h"

namespace attnscope {

/// Memory of the Rust crate, freed on destruction.
class CrateBytes {
 public:
  CrateBytes() = default;
  CrateBytes(const CrateBytes&) = delete;
  CrateBytes& operator=(const CrateBytes&) = delete;
  ~CrateBytes() { rust_free(bytes_); }
  rust_bytes* out() { return &bytes_; }
  std::size_t size() const { return bytes_.size; }
  const std::uint8_t* data() const { return bytes_.data; }
  std::string text() const {
    return bytes_.size == 0 ? "" : std::string(reinterpret_cast<char*>(bytes_.data), bytes_.size);
  }

 private:
  rust_bytes bytes_{nullptr, 0};
};

/// The first byte of a text.
inline const std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

}  // namespace attnscope
