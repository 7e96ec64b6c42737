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

/// Returns `untrusted` as one line of valid UTF-8: control bytes and invalid sequences become
/// `\xNN`.
std::string printable(std::string_view untrusted);

/// Returns the shortest decimal that reads back to the same float64: `0.9`, `1e-07`.
std::string shortest_decimal(double value);

/// "[2, 3]"; "[]" for a scalar.
std::string shape_text(std::span<const std::int64_t> shape);

/// "a, b, c".
std::string join(std::span<const std::string> words, std::string_view separator = ", ");

/// "a", "a and b", "a, b and c".
std::string join_words(std::span<const std::string> words);

/// Splits `text` at separators. An empty text gives one empty part.
std::vector<std::string> split(std::string_view text, char separator);

/// Returns the candidate with the smallest edit distance to `word`, if it is small enough for a
/// typing error.
std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates);

/// "L5H3": a head by its layer, as in the literature.
std::string head_name(std::int64_t layer, std::int64_t head);

/// Returns " (did you mean 'x'?)", or an empty text if no candidate is close enough.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

// UTF-8, one sequence at a time.

/// Returns the length in bytes of the UTF-8 sequence at the start of `text`, which must not be
/// empty. Returns 0 if the sequence is invalid.
std::size_t utf8_length(std::string_view text);

/// Returns the code point of one valid sequence.
char32_t code_point(std::string_view sequence);

/// Returns the position of the first byte that is not UTF-8, or nothing if all bytes are.
std::optional<std::size_t> first_broken_utf8(std::string_view text);

// Wording of messages: lists, and nouns in singular or plural.

/// Returns "token" for 1, "tokens" for other counts. `many`: a plural that does not end in s.
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

/// Splits a list as people type it: "1, 2" is the same as "1,2".
std::vector<std::string> list_parts(std::string_view list);

/// "a", "a or b", "a, b or c".
std::string join_alternatives(std::span<const std::string> words);

/// Formats ascending numbers: "0-2, 4, 6-7".
std::string runs_text(std::span<const std::int64_t> numbers);

/// Formats a size: "12 MB", or bytes below 1 MB.
std::string memory_text(std::uint64_t bytes);

}  // namespace attnscope
