#include "attnscope/analyses/requested_rank.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "attnscope/core/error.h"
#include "attnscope/model/spec.h"

namespace attnscope {

std::int64_t Rank::resolve(std::int64_t width) const {
  const double rank = of_width ? std::round(number * static_cast<double>(width)) : number;
  return std::max(std::int64_t{1}, static_cast<std::int64_t>(rank));
}

std::string Rank::text() const {
  if (!of_width) return std::to_string(static_cast<std::int64_t>(number));
  // As it is read: without an exponent. The smallest float64 has some 340 characters.
  std::array<char, 400> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::fixed)
          .ptr;
  return std::string(buffer.data(), end) + "D";
}

Rank parse_rank(std::string_view text) {
  const bool of_width = text.ends_with('D');
  const char* end = text.data() + text.size() - (of_width ? 1 : 0);
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const bool whole =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  const bool fits = of_width ? number > 0 && number <= 1
                             : whole && number >= 1 && number <= static_cast<double>(kMaxSize);
  if (error != std::errc() || stop != end || !fits) {
    throw Error(ErrorKind::usage,
                {.parameter = "rank",
                 .problem = '\'' + verbatim(text) + "' is neither a rank nor a share of the width",
                 .hint = "for example: 512,0.1D"});
  }
  return {.number = number, .of_width = of_width};
}

}  // namespace attnscope
