// The config.json of a GGUF file's model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/checkpoint/gguf/gguf_family.h"
#include "attnscope/checkpoint/gguf/gguf_file.h"

namespace attnscope {

/// Sizes that undoing a conversion needs.
struct GgufHeads {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t width = 0;     // of the model
  std::int64_t head_dim = 0;  // of queries and keys
  std::optional<std::int64_t> experts = {};
  std::int64_t padding_rows = 0;  // of positions up to that of padding
};

/// Throws Error(format) if the file lacks them, Error(unsupported) if they differ between layers.
GgufHeads heads_of(const GgufFile& file, const GgufFamily& family);

/// Facts that follow from the tensors, not from the file's values.
struct GgufFacts {
  std::int64_t vocabulary = 0;  // rows of the embedding
  bool tied = false;            // no head, or one that repeats the embedding
  bool attention_bias = false;
  bool mlp_bias = false;
  bool head_norms = false;  // of queries and keys
  std::optional<std::int64_t> last_expert_layer;
  std::vector<float> rope_divisors;                  // of frequencies, (rotated / 2,); empty: none
  std::vector<float> short_divisors, long_divisors;  // Phi-3's, likewise
};

/// The text of a config.json. Adds to `notes` what was assumed.
std::string gguf_config(const GgufFile& file, const GgufFamily& family, const GgufFacts& facts,
                        std::vector<std::string>& notes);

}  // namespace attnscope
