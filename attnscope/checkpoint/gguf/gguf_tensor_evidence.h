// What the tensors of GGUF files reveal about a model, in addition to the files' values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/checkpoint/gguf/gguf_file.h"

namespace attnscope {

/// Facts that follow from the tensors, not from the file's values.
struct GgufFacts {
  std::int64_t vocabulary = 0;  // rows of the embedding
  bool tied = false;            // no LM head, or one that repeats the embedding
  bool attention_bias = false;
  bool mlp_bias = false;
  bool head_norms = false;       // of queries and keys
  bool values_are_keys = false;  // some layers have W_K and no W_V
  std::optional<std::int64_t> last_expert_layer;
  std::optional<std::int64_t> values_width;          // total over all heads of the first layer
  std::vector<float> rope_divisors;                  // divisors of frequencies, (rotary dimensions
                                                     // / 2,); empty: none
  std::vector<float> short_divisors, long_divisors;  // for Phi-3: divisors for short and long texts
};

/// `parts`: all parts of the checkpoint. Calls `need` for the few tensors whose values are read.
/// Throws Error(format) if there is no embedding, or if a list of divisors is invalid.
GgufFacts gguf_facts(std::span<const GgufFile> parts, const NeedBytes& need);

}  // namespace attnscope
