// Token ids stored in a file, as llm.c and modded-nanogpt write them.
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

/// A file of 256 little-endian int32 (magic 20240520, version 1, number of tokens, then 253 unused)
/// and as many little-endian uint16 as there are tokens. Shards are large, so ids are read on
/// demand.
class TokenShard {
 public:
  /// Throws Error(io), or Error(format) that names the wrong magic, version or length.
  explicit TokenShard(const std::filesystem::path& file);

  /// Number of tokens.
  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size() / 2); }
  /// Ids of `count` tokens from position `first` on; both lie within the shard.
  std::vector<std::int64_t> ids(std::int64_t first, std::int64_t count) const;

  /// Throws Error(format) that names the first id of the file that is not below `vocabulary`, and
  /// its position; Error(io) if the file was written to since it was opened.
  void check_ids(std::int64_t vocabulary) const;
  /// Throws as window_starts() does, and Error(io) if the file was written to since it was opened.
  std::vector<std::vector<std::int64_t>> cut_windows(const WindowRequest& request) const;

 private:
  MappedFile file_;
  std::span<const std::byte> tokens_;  // (size(), 2)
};

/// The bytes of the tokens in a shard. Errors name it `file`.
std::span<const std::byte> parse_token_shard(std::span<const std::byte> bytes,
                                             std::string_view file);

/// One token's id.
inline std::int64_t token_at(std::span<const std::byte> tokens, std::int64_t position) {
  const std::size_t at = static_cast<std::size_t>(position) * 2;
  return std::to_integer<int>(tokens[at]) | std::to_integer<int>(tokens[at + 1]) << 8;
}

}  // namespace attnscope
