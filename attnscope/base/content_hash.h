// Hashes of byte sequences.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace attnscope {

/// Returns 32 hexadecimal digits: XXH3, 128 bits. Different contents collide by chance with
/// probability 2^-128. The hash does not protect against deliberate collisions.
std::string content_hash(std::span<const std::byte> bytes);
std::string content_hash(std::string_view text);

}  // namespace attnscope
