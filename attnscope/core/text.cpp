#include "attnscope/core/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <utility>

#include "attnscope/core/utf8.h"

namespace attnscope {
namespace {

/// What terminals obey (C0, DEL, C1), and what turns or breaks lines (bidirectional controls, the
/// line and paragraph separators).
bool is_control(std::string_view sequence) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(sequence[at]); };
  if (sequence.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (sequence.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  if (sequence.size() == 4 || byte(0) != 0xE2) return false;
  const bool separator_or_override = byte(1) == 0x80 && byte(2) >= 0xA8 && byte(2) <= 0xAE;
  const bool isolate = byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;
  return separator_or_override || isolate;
}

/// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
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
  // Words from files or a shell can be huge; nothing that long is a typing error.
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

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  const auto best = closest(word, candidates);
  return best ? " (did you mean '" + *best + "'?)" : "";
}

}  // namespace attnscope
