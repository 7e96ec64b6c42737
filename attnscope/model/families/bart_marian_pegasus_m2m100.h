// The stacks of BART's relatives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/model/architecture.h"

namespace attnscope {

/// What a file means that leaves them out.
struct BartSizes {
  std::int64_t layers, heads, mlp_width;
};

/// What relatives of BART differ in.
struct BartNorms {
  bool of_inputs = false;     // of attention and MLP; else of the sums after them
  bool of_embedding = false;  // the embedding has a norm
  std::int64_t position_offset = 0;
  bool scaled_by_default = false;      // the embedding is multiplied by √D
  std::optional<WaveRule> waves = {};  // positions of files that hold none
  std::string activation = "gelu";
};

/// q, k, v and o under that name.
std::vector<WeightRule> bart_attention(const std::string& place);

/// `stack`: "encoder" or "decoder".
Architecture bart_stack(const std::string& stack, const BartSizes& sizes, const BartNorms& norms);

/// The decoder's attention to what the encoder gives.
Architecture bart_cross(const BartSizes& sizes, const BartNorms& norms);

}  // namespace attnscope
