// Small text helpers for messages: untrusted names, numbers, suggestions for mistyped words.
#pragma once

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

}  // namespace attnscope
