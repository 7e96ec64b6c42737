// What a model is run on where that is no text.
#pragma once

#include <cstdint>
#include <vector>

namespace attnscope {

/// An image, (channels, rows, columns); or sound, (samples) of a wave or (features, frames).
struct MediaInput {
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // row by row
};

// How the rows of a sequence lie in the image that they were made of.

/// First the rows that have no place in it (class, registers), then its patches, row by row.
struct PatchGrid {
  std::int64_t before = 0;
  std::int64_t rows = 0, cols = 0;  // of patches

  std::int64_t patches() const { return rows * cols; }
  std::int64_t length() const { return before + patches(); }
  bool operator==(const PatchGrid&) const = default;
};

// A text as token ids.

using TokenIds = std::vector<std::int64_t>;

}  // namespace attnscope
