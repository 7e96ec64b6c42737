// How the rows of a sequence lie in the image that they were made of.
#pragma once

#include <cstdint>

namespace attnscope {

/// First the rows that have no place in it (class, registers), then its patches, row by row.
struct PatchGrid {
  std::int64_t before = 0;
  std::int64_t rows = 0, cols = 0;  // of patches

  std::int64_t patches() const { return rows * cols; }
  std::int64_t length() const { return before + patches(); }
  bool operator==(const PatchGrid&) const = default;
};

}  // namespace attnscope
