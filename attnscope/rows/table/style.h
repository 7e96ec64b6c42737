// Shared by all tables: colors, alignment by display width, readable numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/rows/sink.h"

namespace attnscope {

/// Styles text if color is on; otherwise returns it unchanged.
class Style {
 public:
  explicit Style(bool color) : color_(color) {}
  bool color() const { return color_; }
  std::string bold(std::string_view text) const { return wrap("1", text); }
  std::string dim(std::string_view text) const { return wrap("2", text); }
  /// Shades text from blue (0) over green to yellow (1).
  std::string shade(double share, std::string_view text) const;
  /// The color key for write_legend(): "color: LOW ▆▆▆▆▆▆▆▆▆ HIGH"; empty if color is off.
  std::string key(std::string_view low, std::string_view high) const;
  /// An eighth-block bar one character wide for `share` in [0, 1]; empty if color is off.
  std::string bar(double share) const;

 private:
  std::string wrap(std::string_view code, std::string_view text) const;
  bool color_;
};

/// Terminal columns of a text: escape sequences take none, a UTF-8 sequence one.
std::size_t display_width(std::string_view text);

std::string pad_left(std::string_view text, std::size_t width);
std::string pad_right(std::string_view text, std::size_t width);

/// 8030261248 → "8,030,261,248".
std::string grouped(std::int64_t number);

/// 8030261248 → "8.03 G" in powers of 1000; "" below 1000.
std::string scaled(double number);

/// Cells of a table, line by line.
using Lines = std::vector<std::vector<std::string>>;

/// Aligns cells two spaces apart: the first `left_columns` to the left, the others to the right.
std::string align(const std::vector<std::vector<std::string>>& lines, std::size_t left_columns = 1);

/// The display width of the widest line.
std::size_t width_of(std::string_view lines);

/// Aligns cells in as few blocks of at most `width` columns as possible, separated by blank lines.
/// Each block starts with the first cells of the lines, and omits lines without other cells in it.
/// `groups`: how many of the other columns stay together; empty: each is separate. A block of one
/// group may be wider.
std::string fold(const std::vector<std::vector<std::string>>& lines, std::size_t width,
                 std::vector<std::size_t> groups = {});

/// A field of a row as a number or text; the fallback if it is absent, null or of another type.
std::int64_t integer_field(const Record& row, std::string_view name, std::int64_t fallback = 0);
std::string text_field(const Record& row, std::string_view name);
/// None if the field is absent, null or not a double.
std::optional<double> number_field(const Record& row, std::string_view name);
/// NaN if there is no number.
double number_or_nan(const Record& row, std::string_view name);

}  // namespace attnscope
