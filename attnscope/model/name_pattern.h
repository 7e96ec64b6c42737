// Patterns of tensor names: `{layer}`, `{group}`, `{inner}` and `{expert}` stand for numbers, `*`
// for any text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attnscope {

struct LayerNumbers {
  std::int64_t layer = 0;
  std::int64_t group = 0;
  std::int64_t inner = 0;
  std::int64_t expert = 0;
};

/// The pattern with its numbers filled in.
std::string fill_pattern(std::string_view pattern, const LayerNumbers& numbers);

struct PatternMatch {
  std::optional<std::int64_t> layer;   // the number that stood for `{layer}`
  std::optional<std::int64_t> expert;  // likewise
};

/// Matches the whole of `name`, in time at most proportional to the product of the lengths.
std::optional<PatternMatch> match_pattern(std::string_view pattern, std::string_view name);

}  // namespace attnscope
