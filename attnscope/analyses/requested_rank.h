// A rank as requests name it: a whole number, or a share of the model's width.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attnscope {

struct Rank {
  double number = 0;  // the rank, or the share in (0, 1]
  bool of_width = false;

  /// At least 1; a share of the width goes to the nearest whole number.
  std::int64_t resolve(std::int64_t width) const;
  /// "512", "0.1D".
  std::string text() const;
  friend bool operator==(const Rank&, const Rank&) = default;
};

/// Throws Error(usage) for what is neither.
Rank parse_rank(std::string_view text);

}  // namespace attnscope
