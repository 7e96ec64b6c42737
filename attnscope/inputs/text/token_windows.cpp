#include "attnscope/inputs/text/token_windows.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

/// Returns the next output of SplitMix64.
std::uint64_t next(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15;
  std::uint64_t z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}

[[noreturn]] void refuse_windows(std::int64_t tokens, std::int64_t windows,
                                 const WindowRequest& request, std::string_view place) {
  const std::string has = "has " + counted(tokens, "token");
  const std::string length = std::to_string(request.length);
  if (windows == 0) {
    throw Error(
        ErrorKind::usage,
        {.file = std::string(place),
         .problem = has + ", fewer than the " + length + " required for one sequence",
         .hint = tokens == 0 ? "provide more text"
                             : "provide more text, or set {length} " + std::to_string(tokens)});
  }
  throw Error(
      ErrorKind::usage,
      {.file = std::string(place),
       .problem = has + ", enough for " + counted(windows, "sequence") + " of " + length +
                  ", not for the " + std::to_string(request.sequences) + " required by {sequences}",
       .hint = "provide more text, or use fewer or shorter sequences"});
}

}  // namespace

std::vector<std::int64_t> window_starts(std::int64_t tokens, const WindowRequest& request,
                                        std::string_view place) {
  std::int64_t windows = 0;  // available windows
  if (request.length <= tokens) {
    windows = request.sample ? tokens - request.length + 1 : tokens / request.length;
  }
  const std::int64_t wanted = request.or_fewer
                                  ? std::clamp<std::int64_t>(windows, 1, request.sequences)
                                  : request.sequences;
  if (windows < wanted) {
    refuse_windows(tokens, windows, request, place);
  }
  std::vector<std::int64_t> starts;
  starts.reserve(static_cast<std::size_t>(wanted));
  if (!request.sample) {
    for (std::int64_t window = 0; window < wanted; ++window) {
      starts.push_back(window * request.length);
    }
    return starts;
  }
  std::uint64_t state = *request.sample;
  std::unordered_set<std::int64_t> drawn;
  while (starts.size() < static_cast<std::size_t>(wanted)) {
    __extension__ using Wide = unsigned __int128;
    const auto start = static_cast<std::int64_t>(Wide(next(state)) * windows >> 64);
    if (drawn.insert(start).second) starts.push_back(start);
  }
  return starts;
}

std::vector<TokenIds> cut_windows(std::span<const std::int64_t> ids, const WindowRequest& request,
                                  std::string_view place) {
  std::vector<TokenIds> windows;
  for (const std::int64_t start :
       window_starts(static_cast<std::int64_t>(ids.size()), request, place)) {
    const auto window =
        ids.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(request.length));
    windows.emplace_back(window.begin(), window.end());
  }
  return windows;
}

void check_token_ids(std::span<const std::int64_t> ids, std::int64_t vocabulary,
                     std::string_view place) {
  std::int64_t position = 0;
  for (const std::int64_t id : ids) {
    if (id < 0 || id >= vocabulary) refuse_token_id(id, position, vocabulary, place);
    ++position;
  }
}

void refuse_token_id(std::int64_t id, std::int64_t position, std::int64_t vocabulary,
                     std::string_view place) {
  throw Error(ErrorKind::format, {.file = std::string(place),
                                  .problem = "the token id " + std::to_string(id) +
                                             " at position " + std::to_string(position) +
                                             " is not in the model's vocabulary, which ends at " +
                                             std::to_string(vocabulary - 1)});
}

}  // namespace attnscope
