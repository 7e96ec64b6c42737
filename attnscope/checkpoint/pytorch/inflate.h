// Deflated bytes, as zip files hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/checkpoint/byte_reader.h"

namespace attnscope {

/// Exactly `size` bytes out of `packed`, a raw deflate stream (RFC 1951) that ends with its last
/// byte; `crc` is of the result. Throws Error(format) where it is damaged, or holds more or fewer
/// bytes. Nothing is allocated for a size that so few packed bytes cannot hold.
std::vector<std::byte> inflate_bytes(std::span<const std::byte> packed, std::uint64_t size,
                                     std::uint32_t crc, const FilePlace& where);

}  // namespace attnscope
