// Cuts windows from a long text, and checks ids against a model's vocabulary.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attnscope/base/model_inputs.h"

namespace attnscope {

struct WindowRequest {
  std::int64_t sequences = 1;           // number of windows, at least 1
  std::int64_t length = 1;              // tokens per window, at least 1
  std::optional<std::uint64_t> sample;  // seed for random windows; none: consecutive windows
  bool or_fewer = false;                // accepts fewer windows, but at least one
};

/// Returns the start positions of windows in a text of `tokens` tokens: 0, length, 2 length, …, or
/// distinct random positions, so that windows may overlap. If there are too few windows, throws
/// Error(usage) about `place` (a file, "text") with the available number.
/// Random positions come from SplitMix64 (Steele, Lea and Flood 2014), whose initial state is the
/// seed. For each output z, floor(z * (tokens - length + 1) / 2^64) is the next position, unless it
/// was drawn before. In Python:
///     state, starts = seed, []
///     while len(starts) < sequences:
///         state = (state + 0x9E3779B97F4A7C15) % 2**64
///         z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
///         z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
///         start = (z ^ z >> 31) * (tokens - length + 1) >> 64
///         if start not in starts: starts.append(start)
std::vector<std::int64_t> window_starts(std::int64_t tokens, const WindowRequest& request,
                                        std::string_view place);

/// Returns the ids of those windows of a text.
std::vector<TokenIds> cut_windows(std::span<const std::int64_t> ids, const WindowRequest& request,
                                  std::string_view place);

/// Throws Error(format) about `place` that reports the first of `ids` that is negative or not below
/// `vocabulary`, and its position.
void check_token_ids(std::span<const std::int64_t> ids, std::int64_t vocabulary,
                     std::string_view place);
[[noreturn]] void refuse_token_id(std::int64_t id, std::int64_t position, std::int64_t vocabulary,
                                  std::string_view place);

}  // namespace attnscope
