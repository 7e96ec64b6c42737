// What takes the place of a part of a layer.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/forward/layer_parts.h"

namespace attnscope {

enum class Replacement {
  mean,      // its mean over all positions of all texts
  zero,      // zeros
  resample,  // what it gave at the same place of the next text; all are of one length
};

/// Means of columns over rows, summed in float64.
std::vector<float> column_means(const Matrix<float>& rows);

class Replacements {
 public:
  /// `length`: rows of each text's parts, where they are resampled. `layer` must outlive it.
  Replacements(const LayerParts& layer, Replacement how, std::int64_t length);

  /// For runs of that chunk, which it must not outlive.
  LayerParts::Replace of(const TextChunk& chunk) const;

 private:
  const LayerParts& layer_;
  Replacement how_;
  std::int64_t length_;
  std::vector<float> heads_, mlp_;  // means
};

/// What a part gave on other texts of the same lengths.
LayerParts::Replace given_on(const LayerParts& other, const TextChunk& chunk);

}  // namespace attnscope
