// Model inputs: token ids, images and audio.
#pragma once

#include <cstdint>
#include <vector>

namespace attnscope {

/// An image of shape (channels, rows, columns), or audio: a waveform (samples) or features
/// (features, frames).
struct MediaInput {
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // row-major
};

// Maps the rows of a sequence to the patches of an image.

/// The sequence starts with rows that are not patches (class token, registers). The patches follow,
/// row by row.
struct PatchGrid {
  std::int64_t before = 0;
  std::int64_t rows = 0, cols = 0;  // number of patches

  std::int64_t patches() const { return rows * cols; }
  std::int64_t length() const { return before + patches(); }
  bool operator==(const PatchGrid&) const = default;
};

// A text as token ids.

using TokenIds = std::vector<std::int64_t>;

}  // namespace attnscope
