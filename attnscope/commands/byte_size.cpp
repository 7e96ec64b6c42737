#include "attnscope/commands/byte_size.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "attnscope/core/error.h"
#include "attnscope/core/text.h"

namespace attnscope {
namespace {

struct Unit {
  std::string_view name;
  double base;
  int power;
};
constexpr std::array kUnits = {
    Unit{"B", 1024, 0},   Unit{"K", 1024, 1},   Unit{"M", 1024, 2},   Unit{"G", 1024, 3},
    Unit{"T", 1024, 4},   Unit{"KiB", 1024, 1}, Unit{"MiB", 1024, 2}, Unit{"GiB", 1024, 3},
    Unit{"TiB", 1024, 4}, Unit{"KB", 1000, 1},  Unit{"MB", 1000, 2},  Unit{"GB", 1000, 3},
    Unit{"TB", 1000, 4},
};

constexpr double kMaxBytes = 0x1p62;

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

[[noreturn]] void refuse_size(const std::string& parameter, const std::string& text,
                              const std::string& meant = "") {
  throw Error(ErrorKind::usage,
              {.parameter = parameter,
               .problem = "'" + text + "' is not a size of memory" +
                          (meant.empty() ? " (for example: 2G, 512M, 1.5GiB)" : meant)});
}

}  // namespace

std::uint64_t parse_byte_size(const std::string& parameter, const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || !(number > 0) || std::isinf(number)) refuse_size(parameter, text);
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  const std::string digits(text.data(), stop);
  if (unit.empty())
    refuse_size(parameter, text, ": it has no unit (did you mean '" + digits + "G'?)");
  std::vector<std::string> known;
  for (const Unit& candidate : kUnits) {
    if (same_letters(unit, candidate.name)) {
      const double bytes = number * std::pow(candidate.base, candidate.power);
      if (bytes < 1 || bytes > kMaxBytes) refuse_size(parameter, text);
      return static_cast<std::uint64_t>(bytes);
    }
    known.push_back(digits + std::string(candidate.name));
  }
  refuse_size(parameter, text, suggestion(text, known));
}

}  // namespace attnscope
