#include "attnscope/inputs/text/token_shard.h"

#include <string>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

constexpr std::size_t kHeaderBytes = 1024;
constexpr std::int32_t kMagic = 20240520;
constexpr std::int32_t kVersion = 1;

[[noreturn]] void refuse_shard(std::string_view file, std::string problem, std::string hint = "") {
  throw Error(ErrorKind::format,
              {.file = std::string(file), .problem = std::move(problem), .hint = std::move(hint)});
}

std::int32_t header_field(std::span<const std::byte> bytes, std::size_t field) {
  std::uint32_t value = 0;
  for (std::size_t byte = 4; byte-- > 0;) {
    value = value << 8 | std::to_integer<std::uint32_t>(bytes[field * 4 + byte]);
  }
  return static_cast<std::int32_t>(value);
}

}  // namespace

std::span<const std::byte> parse_token_shard(std::span<const std::byte> bytes,
                                             std::string_view file) {
  if (bytes.size() < kHeaderBytes) {
    refuse_shard(file, "is not a token shard: its " +
                           counted(bytes.size(), "byte is", "bytes are") +
                           " fewer than the 1024 of a header");
  }
  if (const std::int32_t magic = header_field(bytes, 0); magic != kMagic) {
    refuse_shard(file, "is not a token shard: its magic number is " + std::to_string(magic) +
                           ", expected 20240520");
  }
  if (const std::int32_t version = header_field(bytes, 1); version != kVersion) {
    refuse_shard(file, "is a token shard of version " + std::to_string(version) + ", expected 1",
                 "version 1 has 16-bit tokens");
  }
  const std::int32_t count = header_field(bytes, 2);
  if (count < 0) refuse_shard(file, "its header specifies " + std::to_string(count) + " tokens");
  const std::span<const std::byte> tokens = bytes.subspan(kHeaderBytes);
  if (tokens.size() != static_cast<std::size_t>(count) * 2) {
    refuse_shard(
        file,
        "has " + counted(tokens.size(), "byte") + " of tokens, but its header specifies " +
            counted(count, "token") + " of 2 bytes",
        tokens.size() < static_cast<std::size_t>(count) * 2 ? "is the file truncated?" : "");
  }
  return tokens;
}

TokenShard::TokenShard(const std::filesystem::path& file)
    : file_(file), tokens_(parse_token_shard(file_.bytes(), file.string())) {}

std::vector<std::int64_t> TokenShard::ids(std::int64_t first, std::int64_t count) const {
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  for (std::int64_t at = 0; at < count; ++at) out[at] = token_at(tokens_, first + at);
  return out;
}

void TokenShard::check_ids(std::int64_t vocabulary) const {
  for (std::int64_t position = 0; position < size(); ++position) {
    const std::int64_t id = token_at(tokens_, position);
    if (id < vocabulary) continue;
    file_.check_intact();
    refuse_token_id(id, position, vocabulary, file_.path().string());
  }
  file_.check_intact();
}

std::vector<TokenIds> TokenShard::cut_windows(const WindowRequest& request) const {
  std::vector<TokenIds> windows;
  for (const std::int64_t start : window_starts(size(), request, file_.path().string())) {
    windows.push_back(ids(start, request.length));
  }
  file_.check_intact();
  return windows;
}

}  // namespace attnscope
