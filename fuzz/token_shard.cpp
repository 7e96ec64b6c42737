// Token shards: for any header, every token that is read is inside the file.
#include "attnscope/inputs/text/token_shard.h"

#include <cstdint>

#include "attnscope/base/error.h"

using namespace attnscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto tokens = parse_token_shard(std::as_bytes(std::span(data, size)), "input");
    const auto count = static_cast<std::int64_t>(tokens.size() / 2);
    std::vector<std::int64_t> ids;
    for (std::int64_t position = 0; position < count; ++position) {
      ids.push_back(token_at(tokens, position));
    }
    const WindowRequest request{.sequences = 3, .length = 2, .sample = size};
    for (const auto& window : cut_windows(ids, request, "input")) {
      if (window.size() != 2) __builtin_trap();
    }
    check_token_ids(ids, 50257, "input");
  } catch (const Error&) {
  }
  return 0;
}
