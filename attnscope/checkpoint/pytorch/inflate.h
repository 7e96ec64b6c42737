// Deflated bytes, as zip files hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/checkpoint/byte_reader.h"

namespace attnscope {

/// Unpacks exactly `size` bytes from `packed`, a raw deflate stream (RFC 1951) that fills it; `crc`
/// is that of the result. Throws Error(format) if the stream is damaged or holds more or fewer
/// bytes. Checks before allocating that so few packed bytes can hold `size` bytes.
std::vector<std::byte> inflate_bytes(std::span<const std::byte> packed, std::uint64_t size,
                                     std::uint32_t crc, const FilePlace& where);

}  // namespace attnscope
