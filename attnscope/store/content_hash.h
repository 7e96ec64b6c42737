// A name for bytes: equal for equal bytes, different for others.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace attnscope {

/// 32 hexadecimal digits: XXH3, 128 bits. Two contents that differ by chance agree with probability
/// 2^-128; it does not withstand somebody who makes them agree on purpose.
std::string content_hash(std::span<const std::byte> bytes);
std::string content_hash(std::string_view text);

}  // namespace attnscope
