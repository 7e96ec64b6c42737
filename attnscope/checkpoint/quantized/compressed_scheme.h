// How a compressed-tensors configuration describes weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/checkpoint/quantized/weight_tensors.h"

namespace attnscope {

/// "weights" of one of its config_groups.
struct CompressedScheme {
  int bits = 8;
  bool is_float = false;
  std::string strategy;  // "tensor", "channel", "group", "tensor_group" or "block"
  std::int64_t group_size = 0;
  std::int64_t block_rows = 0, block_cols = 0;
  bool is_symmetric = true;
  bool has_group_order = false;  // actorder "group": a list says each column's group
};

/// Throws Error(format) for a contradiction, Error(unsupported) for an unknown strategy.
std::vector<CompressedScheme> read_schemes(const WeightParts& parts);

/// Whether the compressor's version packs numbers per word (BitPacking::per_word): versions up to
/// 0.15.
bool is_written_per_word(const WeightParts& parts);

/// The shape of scales that a scheme requires for a (rows, cols) weight.
struct ScaleShape {
  Shape shape;
  std::int64_t block_rows = 1, block_cols = 1;
  std::string words;
};
ScaleShape scale_shape(const CompressedScheme& scheme, std::int64_t rows, std::int64_t cols);

}  // namespace attnscope
