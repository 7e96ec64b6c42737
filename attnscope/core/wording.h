// Words of messages: lists, and nouns in singular or plural.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// "token" for 1, "tokens" for other counts; `many`: a plural that does not end in s.
template <std::integral Count>
std::string noun_for(Count count, std::string_view one, std::string_view many = "") {
  if (count == 1) return std::string(one);
  return many.empty() ? std::string(one) + "s" : std::string(many);
}

/// "1 token", "2 tokens".
template <std::integral Count>
std::string counted(Count count, std::string_view one, std::string_view many = "") {
  return std::to_string(count) + " " + noun_for(count, one, many);
}

/// The parts of a list as people type it: "1, 2" like "1,2".
std::vector<std::string> list_parts(std::string_view list);

/// "a", "a or b", "a, b or c".
std::string join_alternatives(std::span<const std::string> words);

/// "0-2, 4, 6-7" of ascending numbers.
std::string runs_text(std::span<const std::int64_t> numbers);

/// "12 MB", or in bytes below 1 MB.
std::string memory_text(std::uint64_t bytes);

}  // namespace attnscope
