// Small text helpers for messages: untrusted names, numbers, suggestions for mistyped words.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// `untrusted` as one line of valid UTF-8: control bytes and broken sequences become `\xNN`.
std::string printable(std::string_view untrusted);

/// The shortest decimal that reads back to the same float64: `0.9`, `1e-07`.
std::string shortest_decimal(double value);

/// "[2, 3]"; "[]" for a scalar.
std::string shape_text(std::span<const std::int64_t> shape);

/// "a, b, c".
std::string join(std::span<const std::string> words, std::string_view separator = ", ");

/// "a", "a and b", "a, b and c".
std::string join_words(std::span<const std::string> words);

/// The parts of `text` between separators; one empty part for an empty text.
std::vector<std::string> split(std::string_view text, char separator);

/// The candidate nearest to `word` by edit distance, if it is near enough to be meant.
std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates);

/// " (did you mean 'x'?)", or an empty text if no candidate is near.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

// UTF-8, one sequence at a time.

/// Length in bytes of the UTF-8 sequence at the start of `text`, which is not empty; 0 if it is
/// invalid.
std::size_t utf8_length(std::string_view text);

/// The code point of one valid sequence.
char32_t code_point(std::string_view sequence);

/// Position of the first byte that is not UTF-8; nothing if all are.
std::optional<std::size_t> first_broken_utf8(std::string_view text);

// Words of messages: lists, and nouns in singular or plural.

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
