// Token ids stored in a file, in the format of llm.c and modded-nanogpt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/mapped_file.h"
#include "attnscope/inputs/text/token_windows.h"

namespace attnscope {

/// The file has 256 little-endian int32 (magic 20240520, version 1, number of tokens, then 253
/// unused), followed by one little-endian uint16 per token. Shards are large, so ids are read on
/// demand.
class TokenShard {
 public:
  /// Throws Error(io), or Error(format) that reports the wrong magic number, version or length.
  explicit TokenShard(const std::filesystem::path& file);

  /// Returns the number of tokens.
  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size() / 2); }
  /// Returns the ids of `count` tokens from position `first` on; both must lie within the shard.
  std::vector<std::int64_t> ids(std::int64_t first, std::int64_t count) const;

  /// Throws Error(format) that reports the first id of the file that is not below `vocabulary`, and
  /// its position. Throws Error(io) if the file was modified since it was opened.
  void check_ids(std::int64_t vocabulary) const;
  /// Throws the errors of window_starts(), and Error(io) if the file was modified since it was
  /// opened.
  std::vector<TokenIds> cut_windows(const WindowRequest& request) const;

 private:
  MappedFile file_;
  std::span<const std::byte> tokens_;  // (size(), 2)
};

/// Returns the bytes of the tokens in a shard. Errors name it `file`.
std::span<const std::byte> parse_token_shard(std::span<const std::byte> bytes,
                                             std::string_view file);

/// The id of one token.
inline std::int64_t token_at(std::span<const std::byte> tokens, std::int64_t position) {
  const std::size_t at = static_cast<std::size_t>(position) * 2;
  return std::to_integer<int>(tokens[at]) | std::to_integer<int>(tokens[at + 1]) << 8;
}

}  // namespace attnscope
