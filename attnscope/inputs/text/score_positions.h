// Positions of an example over which losses and means are computed: ranges or a mask.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// Positions of tokens in one example, ascending, from 0.
using Positions = std::vector<std::int64_t>;

/// Both ends are included. A negative number counts from the end: -1 is the last token.
struct PositionRange {
  std::int64_t first = 0, last = -1;

  bool operator==(const PositionRange&) const = default;
};

/// Parses "last", "10-", "3,7", "5-9", "-3-" (the last three). Returns nothing if the text does not
/// have this form.
std::optional<std::vector<PositionRange>> parse_position_ranges(std::string_view text);

/// Returns the positions in an example with this number of tokens. Positions beyond its end are
/// skipped.
Positions positions_of(const std::vector<PositionRange>& ranges, std::int64_t tokens);

/// For each example, whether each of its tokens counts.
using PositionMask = std::vector<std::vector<bool>>;

/// Parses a text of 0 and 1, one line per example. Spaces, tabs and commas between them are
/// allowed, and empty lines are skipped. Throws Error(format) about `where` that names the line.
PositionMask parse_position_mask(std::string_view text, const std::string& where);

/// Reads a .npy file of bool, (examples, tokens), or (tokens) for a single example. Throws the
/// errors of read_npy().
PositionMask read_npy_mask(std::string_view bytes, const std::string& where);

/// Throws Error(usage) about `where` if the mask has another number of tokens for that example.
void check_mask_length(const PositionMask& mask, std::size_t example, std::int64_t tokens,
                       const std::string& where);

/// Returns the positions of one example. Throws Error(usage) about `where` if it has another number
/// of tokens.
Positions positions_of(const PositionMask& mask, std::size_t example, std::int64_t tokens,
                       const std::string& where);

}  // namespace attnscope
