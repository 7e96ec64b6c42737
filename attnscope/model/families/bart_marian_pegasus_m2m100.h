// The stacks of BART and similar models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/model/architecture.h"

namespace attnscope {

/// The defaults for settings that a file omits.
struct BartSizes {
  std::int64_t layers, heads, mlp_width;
};

/// The differences between the families that are similar to BART.
struct BartNorms {
  bool of_inputs = false;     // pre-norm: attention and MLP inputs are normalized; otherwise the
                              // sums after them
  bool of_embedding = false;  // the embedding has a norm
  std::int64_t position_offset = 0;
  bool scaled_by_default = false;      // the embedding is multiplied by √D
  std::optional<WaveRule> waves = {};  // computed positions if the file stores none
  std::string activation = "gelu";
};

/// Weight rules of q, k, v and o under that name.
std::vector<WeightRule> bart_attention(const std::string& place);

/// `stack`: "encoder" or "decoder".
Architecture bart_stack(const std::string& stack, const BartSizes& sizes, const BartNorms& norms);

/// The decoder's cross-attention to the encoder output.
Architecture bart_cross(const BartSizes& sizes, const BartNorms& norms);

}  // namespace attnscope
