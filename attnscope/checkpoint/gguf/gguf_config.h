// The config.json of a GGUF file's model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/checkpoint/gguf/gguf_family.h"
#include "attnscope/checkpoint/gguf/gguf_file.h"
#include "attnscope/checkpoint/gguf/gguf_tensor_evidence.h"

namespace attnscope {

/// Of layers with linear attention.
struct GgufLinearHeads {
  std::int64_t key_heads = 1, value_heads = 1;  // the latter a multiple of the former
  std::int64_t key_dim = 0;                     // of one head
  std::int64_t values = 0;                      // of all value heads together, a multiple of theirs

  std::int64_t values_of_key_head() const { return values / key_heads; }
};

/// Sizes that undoing a conversion needs.
struct GgufHeads {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t width = 0;     // of the model
  std::int64_t head_dim = 0;  // of queries and keys
  std::optional<std::int64_t> experts = {};
  std::int64_t padding_rows = 0;  // of positions up to that of padding
  GgufLinearHeads linear = {};
};

/// Throws Error(format) if the file lacks them, Error(unsupported) if they differ between layers.
GgufHeads heads_of(const GgufFile& file, const GgufFamily& family);

/// The text of a config.json. Adds to `notes` what was assumed.
std::string gguf_config(const GgufFile& file, const GgufFamily& family, const GgufFacts& facts,
                        std::vector<std::string>& notes);

}  // namespace attnscope
