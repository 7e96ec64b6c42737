// Creates the config.json of a GGUF file's model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/checkpoint/gguf/gguf_family.h"
#include "attnscope/checkpoint/gguf/gguf_file.h"
#include "attnscope/checkpoint/gguf/gguf_tensor_evidence.h"

namespace attnscope {

/// Heads of linear attention.
struct GgufLinearHeads {
  std::int64_t key_heads = 1, value_heads = 1;  // value_heads is a multiple of key_heads
  std::int64_t key_dim = 0;                     // of one head
  std::int64_t values = 0;                      // all value heads together, a multiple of
                                                // value_heads

  std::int64_t values_of_key_head() const { return values / key_heads; }
};

/// Sizes that are needed to undo a conversion.
struct GgufHeads {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t width = 0;     // hidden size of the model
  std::int64_t head_dim = 0;  // of queries and keys
  std::optional<std::int64_t> experts = {};
  std::int64_t padding_rows = 0;  // position rows up to the padding row
  GgufLinearHeads linear = {};
};

/// Throws Error(format) if the file lacks them, Error(unsupported) if they differ between layers.
GgufHeads heads_of(const GgufFile& file, const GgufFamily& family);

/// Returns the text of a config.json. Adds assumptions to `notes`.
std::string gguf_config(const GgufFile& file, const GgufFamily& family, const GgufFacts& facts,
                        std::vector<std::string>& notes);

}  // namespace attnscope
