#include "attnscope/rows/table/style.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace attnscope {

std::string Style::wrap(std::string_view code, std::string_view text) const {
  if (!color_ || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string Style::shade(double share, std::string_view text) const {
  // Colors of the 256-color cube, dark to bright, readable on black and on white.
  constexpr std::array kRamp = {25, 31, 37, 36, 35, 71, 107, 143, 178};
  const auto last = static_cast<double>(kRamp.size() - 1);
  const auto step = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * last));
  return wrap(fmt::format("38;5;{}", kRamp[step]), text);
}

std::string Style::key(std::string_view low, std::string_view high) const {
  if (!color_) return "";
  constexpr int kSteps = 8;
  std::string ramp;
  for (int step = 0; step <= kSteps; ++step) ramp += shade(1.0 * step / kSteps, "▆");
  return dim("color: ") + dim(low) + " " + ramp + " " + dim(high);
}

std::string Style::bar(double share) const {
  if (!color_) return "";
  constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto step = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * 7.999);
  return shade(share, kBlocks[step]);
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\x1b') {
      at = std::min(text.find('m', at), text.size() - 1);
    } else if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) {
      ++width;
    }
  }
  return width;
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t own = display_width(text);
  return std::string(width > own ? width - own : 0, ' ') + std::string(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t own = display_width(text);
  return std::string(text) + std::string(width > own ? width - own : 0, ' ');
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::ptrdiff_t at = std::ssize(digits) - 3; at > (number < 0 ? 1 : 0); at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

std::string scaled(double number) {
  constexpr std::array<const char*, 4> kUnits = {"k", "M", "G", "T"};
  if (number < 1000) return "";
  std::size_t unit = 0;
  number /= 1000;
  while (number >= 1000 && unit + 1 < kUnits.size()) {
    number /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g} {}", number, kUnits[unit]);
}

std::string align(const std::vector<std::vector<std::string>>& lines, std::size_t left_columns) {
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()), 0);
    for (std::size_t column = 0; column < line.size(); ++column) {
      widths[column] = std::max(widths[column], display_width(line[column]));
    }
  }
  std::string out;
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t column = 0; column < line.size(); ++column) {
      if (column > 0) text += "  ";
      text += column < left_columns ? pad_right(line[column], widths[column])
                                    : pad_left(line[column], widths[column]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  }
  return out;
}

std::size_t width_of(std::string_view lines) {
  std::size_t widest = 0;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    widest = std::max(widest, display_width(lines.substr(0, end)));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return widest;
}

std::string fold(const std::vector<std::vector<std::string>>& lines, std::size_t width,
                 std::vector<std::size_t> groups) {
  std::size_t count = 0;
  for (const auto& line : lines) count = std::max(count, line.size());
  if (count < 2) return align(lines);
  if (groups.empty()) groups.assign(count - 1, 1);
  const auto block = [&](std::size_t first, std::size_t end) {
    std::vector<std::vector<std::string>> part;
    for (const auto& line : lines) {
      const std::span own = std::span(line).subspan(std::min(first, line.size()));
      const auto cells = own.first(std::min(end - first, own.size()));
      if (std::all_of(cells.begin(), cells.end(), [](const auto& cell) { return cell.empty(); })) {
        continue;
      }
      part.push_back({line.front()});
      part.back().insert(part.back().end(), cells.begin(), cells.end());
    }
    return align(part);
  };
  std::string blocks, current;
  std::size_t first = 1, end = 1;
  for (const std::size_t group : groups) {
    std::string wider = block(first, end + group);
    if (first < end && width_of(wider) > width) {
      blocks += current + '\n';
      first = end;
      wider = block(first, end + group);
    }
    end += group;
    current = std::move(wider);
  }
  return blocks + current;
}

std::int64_t integer_field(const Record& row, std::string_view name, std::int64_t fallback) {
  const Value* value = row.find(name);
  const auto* number = value == nullptr ? nullptr : value->get<std::int64_t>();
  return number == nullptr ? fallback : *number;
}

std::string text_field(const Record& row, std::string_view name) {
  const Value* value = row.find(name);
  const auto* text = value == nullptr ? nullptr : value->get<std::string>();
  return text == nullptr ? "" : *text;
}

std::optional<double> number_field(const Record& row, std::string_view name) {
  const Value* value = row.find(name);
  const auto* number = value == nullptr ? nullptr : value->get<double>();
  return number == nullptr ? std::nullopt : std::optional(*number);
}

double number_or_nan(const Record& row, std::string_view name) {
  return number_field(row, name).value_or(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace attnscope
