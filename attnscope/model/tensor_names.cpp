#include "attnscope/model/tensor_names.h"

#include <array>
#include <charconv>
#include <tuple>
#include <utility>

namespace attnscope {
namespace {

constexpr std::string_view kLayer = "{layer}", kExpert = "{expert}";
constexpr std::array<std::string_view, 4> kNumbers = {kLayer, "{group}", "{inner}", kExpert};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns the placeholder at the front of `pattern`, or an empty text.
std::string_view placeholder(std::string_view pattern) {
  for (const std::string_view number : kNumbers) {
    if (pattern.starts_with(number)) return number;
  }
  return {};
}

}  // namespace

std::string fill_pattern(std::string_view pattern, const LayerNumbers& numbers) {
  const std::array values = {numbers.layer, numbers.group, numbers.inner, numbers.expert};
  std::string name;
  while (!pattern.empty()) {
    const std::string_view found = placeholder(pattern);
    if (found.empty()) {
      name += pattern.front();
      pattern.remove_prefix(1);
      continue;
    }
    for (std::size_t index = 0; index < kNumbers.size(); ++index) {
      if (kNumbers[index] == found) name += std::to_string(values[index]);
    }
    pattern.remove_prefix(found.size());
  }
  return name;
}

std::optional<PatternMatch> match_pattern(std::string_view pattern, std::string_view name) {
  // Greedy, with one backtracking point: the last `*`. This suffices for glob patterns and is never
  // exponential.
  PatternMatch match;
  std::optional<std::pair<std::string_view, std::string_view>> retry;
  for (;;) {
    if (const std::string_view number = placeholder(pattern);
        !number.empty() && !name.empty() && is_digit(name.front())) {
      std::size_t digits = 0;
      while (digits < name.size() && is_digit(name[digits])) ++digits;
      if (number == kLayer || number == kExpert) {
        std::int64_t value = 0;
        const auto parsed = std::from_chars(name.data(), name.data() + digits, value);
        if (parsed.ec != std::errc()) return std::nullopt;
        (number == kLayer ? match.layer : match.expert) = value;
      }
      pattern.remove_prefix(number.size());
      name.remove_prefix(digits);
    } else if (!pattern.empty() && pattern.front() == '*') {
      pattern.remove_prefix(1);
      retry = {pattern, name};
    } else if (!pattern.empty() && !name.empty() && pattern.front() == name.front()) {
      pattern.remove_prefix(1);
      name.remove_prefix(1);
    } else if (pattern.empty() && name.empty()) {
      return match;
    } else if (retry && !retry->second.empty()) {
      retry->second.remove_prefix(1);
      std::tie(pattern, name) = *retry;
    } else {
      return std::nullopt;
    }
  }
}

std::vector<std::string> bias_names(std::string_view weight) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kEndings = {{
      {"weight", "bias"},  // PyTorch
      {"kernel", "bias"},  // Keras and Flax
      {".w", ".b"},
      {"_w", "_b"},
  }};
  std::vector<std::string> names;
  for (const auto& [of_weight, of_bias] : kEndings) {
    if (!weight.ends_with(of_weight)) continue;
    names.emplace_back(weight.substr(0, weight.size() - of_weight.size()));
    names.back() += of_bias;
    return names;
  }
  for (const char* added : {".bias", "_bias"}) names.push_back(std::string(weight) + added);
  return names;
}

}  // namespace attnscope
