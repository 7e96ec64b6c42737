#include "attnscope/inputs/text/score_positions.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/inputs/npy_reader.h"

namespace attnscope {
namespace {

/// Removes the signed number at the front of `text` and returns it.
std::optional<std::int64_t> take_position(std::string_view& text) {
  constexpr std::string_view kLast = "last";
  if (text.starts_with(kLast)) {
    text.remove_prefix(kLast.size());
    return -1;
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::optional<PositionRange> position_range(std::string_view text) {
  const auto first = take_position(text);
  if (!first) return std::nullopt;
  if (text.empty()) return PositionRange{*first, *first};
  if (text.front() != '-') return std::nullopt;
  text.remove_prefix(1);
  if (text.empty()) return PositionRange{*first, -1};
  const auto last = take_position(text);
  if (!last || !text.empty()) return std::nullopt;
  return PositionRange{*first, *last};
}

}  // namespace

std::optional<std::vector<PositionRange>> parse_position_ranges(std::string_view text) {
  std::vector<PositionRange> ranges;
  for (const std::string& part : list_parts(std::string(text))) {
    const auto range = position_range(part);
    if (!range) return std::nullopt;
    ranges.push_back(*range);
  }
  return ranges;
}

Positions positions_of(const std::vector<PositionRange>& ranges, std::int64_t tokens) {
  std::set<std::int64_t> chosen;
  for (const PositionRange& range : ranges) {
    const auto from_start = [&](std::int64_t position) {
      return position < 0 ? position + tokens : position;
    };
    const std::int64_t first = std::max<std::int64_t>(from_start(range.first), 0);
    const std::int64_t last = std::min(from_start(range.last), tokens - 1);
    for (std::int64_t position = first; position <= last; ++position) chosen.insert(position);
  }
  return {chosen.begin(), chosen.end()};
}

PositionMask parse_position_mask(std::string_view text, const std::string& where) {
  PositionMask mask;
  std::int64_t number = 0;
  for (const std::string& line : split(std::string(text), '\n')) {
    ++number;
    std::vector<bool> example;
    for (const char letter : line) {
      if (letter == ' ' || letter == '\t' || letter == ',' || letter == '\r') continue;
      if (letter != '0' && letter != '1') {
        throw Error(ErrorKind::format,
                    {.file = where,
                     .problem = "line " + std::to_string(number) + " contains '" +
                                verbatim(std::string(1, letter)) +
                                "', expected 0 and 1, one line per example"});
      }
      example.push_back(letter == '1');
    }
    if (!example.empty()) mask.push_back(std::move(example));
  }
  return mask;
}

PositionMask read_npy_mask(std::string_view bytes, const std::string& where) {
  const NpyBools array = read_npy_bools(bytes, where);
  if (array.shape.empty() || array.shape.size() > 2) {
    throw Error(ErrorKind::format,
                {.file = where,
                 .problem = "has " + counted(array.shape.size(), "axis", "axes") +
                            ", expected 2 (examples, tokens), or 1 (tokens)"});
  }
  const std::int64_t tokens = array.shape.back();
  const std::int64_t examples = array.shape.size() == 2 ? array.shape.front() : 1;
  PositionMask mask;
  for (std::int64_t example = 0; tokens > 0 && example < examples; ++example) {
    const auto begin = array.values.begin() + example * tokens;
    mask.emplace_back(begin, begin + tokens);
  }
  return mask;
}

void check_mask_length(const PositionMask& mask, std::size_t example, std::int64_t tokens,
                       const std::string& where) {
  const std::vector<bool>& own = mask.at(example);
  if (std::ssize(own) == tokens) return;
  throw Error(ErrorKind::usage,
              {.file = where,
               .problem = "has " + counted(own.size(), "value") + " for example " +
                          std::to_string(example + 1) + ", which has " + counted(tokens, "token"),
               .hint = "specify one 0 or 1 per token, including special tokens"});
}

Positions positions_of(const PositionMask& mask, std::size_t example, std::int64_t tokens,
                       const std::string& where) {
  check_mask_length(mask, example, tokens, where);
  const std::vector<bool>& own = mask.at(example);
  Positions positions;
  for (std::int64_t position = 0; position < tokens; ++position) {
    if (own[static_cast<std::size_t>(position)]) positions.push_back(position);
  }
  return positions;
}

}  // namespace attnscope
