// What the tensors of GGUF files show of a model, beside what the files say.
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
  bool tied = false;            // no head, or one that repeats the embedding
  bool attention_bias = false;
  bool mlp_bias = false;
  bool head_norms = false;       // of queries and keys
  bool values_are_keys = false;  // some layers have W_K and no W_V
  std::optional<std::int64_t> last_expert_layer;
  std::optional<std::int64_t> values_width;          // of all heads of the first layer together
  std::vector<float> rope_divisors;                  // of frequencies, (rotated / 2,); empty: none
  std::vector<float> short_divisors, long_divisors;  // Phi-3's, likewise
};

/// `parts`: all of the checkpoint. Calls `need` for the few tensors whose values are read. Throws
/// Error(format) if there is no embedding, or a list of divisors is none.
GgufFacts gguf_facts(std::span<const GgufFile> parts, const NeedBytes& need);

}  // namespace attnscope
