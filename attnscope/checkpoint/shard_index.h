// model.safetensors.index.json: which shard holds which tensor.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace attnscope {

/// The largest index that is read.
inline constexpr std::uint64_t kMaxIndexBytes = 100'000'000;

/// Tensor name → shard file name, a plain name beside the index.
/// Throws Error(format) for anything else, a path out of the folder among them.
std::map<std::string, std::string> parse_shard_index(std::string_view text, std::string_view where);

}  // namespace attnscope
