// Patterns of tensor names: `{layer}`, `{group}`, `{inner}` and `{expert}` stand for numbers, `*`
// for any text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

struct LayerNumbers {
  std::int64_t layer = 0;
  std::int64_t group = 0;
  std::int64_t inner = 0;
  std::int64_t expert = 0;
};

/// Returns the pattern with its numbers filled in.
std::string fill_pattern(std::string_view pattern, const LayerNumbers& numbers);

struct PatternMatch {
  std::optional<std::int64_t> layer;   // the number that matched `{layer}`
  std::optional<std::int64_t> expert;  // the numbers that matched the other placeholders
};

/// Matches the whole of `name`. The time is at most proportional to the product of the lengths.
std::optional<PatternMatch> match_pattern(std::string_view pattern, std::string_view name);

// Names of the bias of a weight.

/// Returns the possible names, most likely first: `q.bias` for `q.weight`, `in_proj_bias` for
/// `in_proj_weight`, `fc_b` for `fc_w`, `wq.bias` and `wq_bias` for `wq`.
std::vector<std::string> bias_names(std::string_view weight);

}  // namespace attnscope
