#include "attnscope/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <utility>

namespace attnscope {
namespace {

/// Characters that control terminals (C0, DEL, C1) or reorder and break lines (bidirectional
/// controls, line and paragraph separators).
bool is_control(std::string_view sequence) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(sequence[at]); };
  if (sequence.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (sequence.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  if (sequence.size() == 4 || byte(0) != 0xE2) return false;
  const bool separator_or_override = byte(1) == 0x80 && byte(2) >= 0xA8 && byte(2) <= 0xAE;
  const bool isolate = byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;
  return separator_or_override || isolate;
}

/// Edit distance: insertions, deletions, substitutions and swaps of adjacent characters (optimal
/// string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t in_a = 1; in_a <= a.size(); ++in_a) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = in_a;
    for (std::size_t in_b = 1; in_b <= b.size(); ++in_b) {
      const std::size_t substituted = above[in_b - 1] + (a[in_a - 1] == b[in_b - 1] ? 0 : 1);
      row[in_b] = std::min({substituted, row[in_b - 1] + 1, above[in_b] + 1});
      const bool swapped =
          in_a > 1 && in_b > 1 && a[in_a - 1] == b[in_b - 2] && a[in_a - 2] == b[in_b - 1];
      if (swapped) row[in_b] = std::min(row[in_b], before[in_b - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string printable(std::string_view untrusted) {
  std::string out;
  out.reserve(untrusted.size());
  while (!untrusted.empty()) {
    const std::size_t length = utf8_length(untrusted);
    const std::string_view sequence = untrusted.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0 || is_control(sequence)) {
      constexpr std::string_view kHex = "0123456789abcdef";
      for (const char c : sequence) {
        const auto byte = static_cast<unsigned char>(c);
        out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      }
    } else {
      out += sequence;
    }
    untrusted.remove_prefix(sequence.size());
  }
  return out;
}

std::string shortest_decimal(double value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string out = "[";
  for (const std::int64_t size : shape) {
    if (out.size() > 1) out += ", ";
    out += std::to_string(size);
  }
  return out + "]";
}

std::string join(std::span<const std::string> words, std::string_view separator) {
  std::string out;
  for (const std::string& word : words) {
    if (&word != words.data()) out += separator;
    out += word;
  }
  return out;
}

std::string join_words(std::span<const std::string> words) {
  if (words.size() < 2) return join(words);
  return join(words.first(words.size() - 1)) + " and " + words.back();
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates) {
  // Words from files or a shell can be huge; a word this long is not a typing error.
  if (word.empty() || word.size() > 64) return std::nullopt;
  const std::string* best = nullptr;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (best == nullptr || distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  const std::size_t allowed = word.size() <= 3 ? 1 : word.size() / 3;
  if (best == nullptr || best_distance > allowed || best_distance >= best->size()) {
    return std::nullopt;
  }
  return *best;
}

std::string head_name(std::int64_t layer, std::int64_t head) {
  return "L" + std::to_string(layer) + "H" + std::to_string(head);
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  const auto best = closest(word, candidates);
  return best ? " (did you mean '" + *best + "'?)" : "";
}

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC2 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xC0) != 0x80) return 0;
  }
  // Rejects overlong forms, surrogates and values above U+10FFFF.
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;
  if (lead == 0xED && byte(1) >= 0xA0) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) >= 0x90) return 0;
  return length;
}

char32_t code_point(std::string_view sequence) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(sequence[at]); };
  // Removes the length marker from the lead byte: 0, 110, 1110 or 11110.
  char32_t code = sequence.size() == 1 ? byte(0) : byte(0) & (0xFF >> (sequence.size() + 1));
  for (std::size_t at = 1; at < sequence.size(); ++at) code = code << 6 | (byte(at) & 0x3F);
  return code;
}

std::optional<std::size_t> first_broken_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

std::vector<std::string> list_parts(std::string_view list) {
  std::vector<std::string> parts = split(list, ',');
  for (std::string& part : parts) {
    part.erase(0, part.find_first_not_of(" \t\n"));
    part.erase(part.find_last_not_of(" \t\n") + 1);
  }
  return parts;
}

std::string join_alternatives(std::span<const std::string> words) {
  if (words.size() < 2) return join(words);
  return join(words.first(words.size() - 1)) + " or " + words.back();
}

std::string runs_text(std::span<const std::int64_t> numbers) {
  std::string text;
  for (std::size_t first = 0; first < numbers.size();) {
    std::size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(numbers[first]);
    if (last > first) text += "-" + std::to_string(numbers[last]);
    first = last + 1;
  }
  return text;
}

std::string memory_text(std::uint64_t bytes) {
  constexpr std::uint64_t kMegabyte = 1'000'000;
  return bytes < kMegabyte ? std::to_string(bytes) + " bytes"
                           : std::to_string(bytes / kMegabyte) + " MB";
}

}  // namespace attnscope
