// One head of one layer.
#pragma once

#include <compare>
#include <cstdint>

namespace attnscope {

/// A negative layer, in arguments of users, counts from the end.
struct HeadIndex {
  std::int64_t layer = 0;
  std::int64_t head = 0;

  friend auto operator<=>(const HeadIndex&, const HeadIndex&) = default;
};

}  // namespace attnscope
