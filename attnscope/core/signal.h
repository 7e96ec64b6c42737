// What a model is run on where that is no text.
#pragma once

#include <cstdint>
#include <vector>

namespace attnscope {

/// An image, (channels, rows, columns); or sound, (samples) of a wave or (features, frames).
struct Signal {
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // row by row
};

}  // namespace attnscope
