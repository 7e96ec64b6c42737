// Verifies the bytes of a download against the file's ETag while they arrive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace attnscope {

/// The hub's ETags are a file's SHA-256 (64 digits, large files) or its git blob id (40 digits).
/// The blob id is the SHA-1 of "blob SIZE", a zero byte and the bytes. Other ETags cannot be
/// verified.
class EtagChecksum {
 public:
  EtagChecksum(std::string etag, std::optional<std::uint64_t> size);
  ~EtagChecksum();
  EtagChecksum(const EtagChecksum&) = delete;
  EtagChecksum& operator=(const EtagChecksum&) = delete;

  void add(std::span<const std::byte> bytes);

  /// Call after all bytes were added. Returns the mismatch, or nothing if the checksum is right.
  std::optional<std::string> problem();

 private:
  struct Digest;
  std::string etag_;
  std::unique_ptr<Digest> digest_;  // null: the ETag cannot be verified
};

}  // namespace attnscope
