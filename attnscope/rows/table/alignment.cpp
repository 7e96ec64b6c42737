#include "attnscope/rows/table/alignment.h"

#include <algorithm>
#include <array>
#include <vector>

#include "attnscope/base/text.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {

namespace {

/// Recognizes "last", "10-" and "3,7", as opposed to the file name of a mask.
bool are_positions(const std::string& text) {
  constexpr std::string_view kLast = "last";
  std::string numbers = text;
  for (auto at = numbers.find(kLast); at != std::string::npos; at = numbers.find(kLast)) {
    numbers.erase(at, kLast.size());
  }
  return numbers.find_first_not_of("0123456789-, ") == std::string::npos;
}

}  // namespace

std::string scored_words(const Record& parameters) {
  const Value* value = parameters.find("score_positions");
  const auto* given = value == nullptr ? nullptr : value->get<std::string>();
  if (given == nullptr) return "";
  if (*given == "last") return "the last token of each example";
  const std::string shown = printable(*given);
  return are_positions(*given) ? "the tokens at positions " + shown + " of each example"
                               : "the tokens marked in " + shown;
}

std::string scored_sentence(const Record& parameters) {
  const std::string words = scored_words(parameters);
  return words.empty() ? "" : " Losses and means are over " + words + ".";
}

void write_legend(std::string_view text, const WriteOptions& options, std::ostream& out,
                  const std::string& key) {
  const auto width = static_cast<std::size_t>(options.width);
  std::vector<std::string> lines = {""};
  for (const std::string& word : split(text, ' ')) {
    std::string& line = lines.back();
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(word);
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  const Style style(options.color);
  for (std::size_t line = 0; line < lines.size(); ++line) {
    out << (line == 0 ? "" : "\n") << style.dim(lines[line]);
  }
  if (!key.empty()) {
    const std::string_view joint = "; ";
    const bool fits = display_width(lines.back()) + joint.size() + display_width(key) <= width;
    out << (fits ? style.dim(joint) : "\n") << key;
  }
  out << '\n';
}

namespace {

struct Range {
  char32_t first, last;
};

/// Combining marks over or under the preceding character. Source: Unicode 15, category Mn of the
/// most widely used scripts.
constexpr std::array kMarks = {
    Range{0x300, 0x36F},   Range{0x483, 0x489},   Range{0x591, 0x5BD},   Range{0x610, 0x61A},
    Range{0x64B, 0x65F},   Range{0x93C, 0x93C},   Range{0x941, 0x948},   Range{0x94D, 0x94D},
    Range{0xE31, 0xE31},   Range{0xE34, 0xE3A},   Range{0xE47, 0xE4E},   Range{0x1AB0, 0x1AFF},
    Range{0x1DC0, 0x1DFF}, Range{0x20D0, 0x20FF}, Range{0x3099, 0x309A}, Range{0xFE20, 0xFE2F},
};

/// Characters two columns wide. Source: Unicode 15, East_Asian_Width W and F, in whole blocks.
constexpr std::array kWide = {
    Range{0x1100, 0x115F},   Range{0x231A, 0x231B},   Range{0x23E9, 0x23EC},
    Range{0x25FD, 0x25FE},   Range{0x2614, 0x2615},   Range{0x2648, 0x2653},
    Range{0x26AA, 0x26AB},   Range{0x26BD, 0x26BE},   Range{0x26C4, 0x26C5},
    Range{0x2705, 0x2705},   Range{0x270A, 0x270B},   Range{0x2728, 0x2728},
    Range{0x274C, 0x274C},   Range{0x2753, 0x2757},   Range{0x2795, 0x2797},
    Range{0x2B1B, 0x2B1C},   Range{0x2B50, 0x2B50},   Range{0x2E80, 0x303E},
    Range{0x3041, 0x33FF},   Range{0x3400, 0x4DBF},   Range{0x4E00, 0xA4CF},
    Range{0xA960, 0xA97F},   Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},
    Range{0xFE30, 0xFE6F},   Range{0xFF01, 0xFF60},   Range{0xFFE0, 0xFFE6},
    Range{0x16FE0, 0x18CFF}, Range{0x1AFF0, 0x1B2FF}, Range{0x1F004, 0x1F004},
    Range{0x1F0CF, 0x1F0CF}, Range{0x1F18E, 0x1F19A}, Range{0x1F200, 0x1F320},
    Range{0x1F32D, 0x1F64F}, Range{0x1F680, 0x1F6FF}, Range{0x1F7E0, 0x1F7F0},
    Range{0x1F90C, 0x1FAFF}, Range{0x20000, 0x3FFFD},
};

template <std::size_t count>
bool is_in(const std::array<Range, count>& ranges, char32_t code) {
  return std::any_of(ranges.begin(), ranges.end(), [code](const Range& range) {
    return range.first <= code && code <= range.last;
  });
}

std::int64_t columns_of(char32_t code) {
  if (is_in(kMarks, code)) return 0;
  return is_in(kWide, code) ? 2 : 1;
}

struct Character {
  std::string bytes;  // including its marks
  std::int64_t columns;
};

std::vector<Character> characters(std::string_view text) {
  std::vector<Character> out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) break;
    const std::int64_t columns = columns_of(code_point(text.substr(0, length)));
    if (columns == 0 && !out.empty()) {
      out.back().bytes += text.substr(0, length);
    } else {
      // A mark without a base character takes its own column.
      out.push_back({(columns == 0 ? " " : "") + std::string(text.substr(0, length)),
                     std::max<std::int64_t>(columns, 1)});
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace

std::string fitted_text(std::string_view text, std::int64_t columns) {
  const std::vector<Character> all = characters(text);
  std::int64_t whole = 0;
  for (const Character& character : all) whole += character.columns;
  const std::int64_t room = whole > columns ? columns - 1 : columns;  // `…` takes one column
  std::string out;
  std::int64_t used = 0;
  for (const Character& character : all) {
    if (used + character.columns > room) break;
    out += character.bytes;
    used += character.columns;
  }
  if (whole > columns && columns > 0) {
    out += "…";
    ++used;
  }
  return out.append(static_cast<std::size_t>(std::max<std::int64_t>(columns - used, 0)), ' ');
}

std::vector<std::string> characters_of(std::string_view text, std::size_t most,
                                       std::int64_t columns) {
  std::vector<std::string> out;
  const std::vector<Character> all = characters(text);
  for (const Character& character : all) {
    if (out.size() == most) {
      out.back() = "…";
      break;
    }
    out.push_back(character.columns > columns ? "▯" : character.bytes);
  }
  return out;
}

}  // namespace attnscope
