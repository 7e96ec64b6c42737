// Keys of config.json, and the defaults of transformers for missing keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attnscope {

/// A number in config.json, and the default of transformers if the key is absent. Null in a file
/// means no number, whatever the default. A dot in a name leads into a nested object.
struct ConfigKey {
  std::string name;
  std::optional<std::int64_t> fallback = {};
  std::string other_name = {};  // takes precedence if the file has it
};

/// The same for a real number.
struct ConfigNumber {
  std::string name;  // empty: always the default
  std::optional<double> fallback = {};
};

/// The same for a boolean.
struct ConfigFlag {
  std::string name;  // empty: always the default
  bool fallback = false;
  std::string other_name = {};  // takes precedence if the file has it
};

/// MLP sizes of LFM2: two thirds of the size in the file, times a factor, rounded up to a multiple.
/// If the factor is null, only two thirds.
struct AdjustedWidth {
  ConfigFlag enabled = {"", false};
  ConfigNumber factor = {};
  ConfigKey multiple = {};
};

struct ConfigKeys {
  ConfigKey layers;
  ConfigKey layer_groups = {"", 1};      // groups that share weights (ALBERT); no name: not grouped
  ConfigKey layers_per_group = {"", 1};  // distinct layers inside a group
  ConfigKey heads;
  ConfigKey kv_heads = {};               // no name, or null: as many as heads
  ConfigFlag one_kv_head = {"", false};  // true: one, whatever kv_heads is
  ConfigKey head_dim = {};               // no name or no value: hidden size / heads
  ConfigKey width;
  ConfigKey source_width = {};  // of the vectors that cross-attention reads; no value: `width`
  ConfigKey mlp_width;          // no value: `mlp_ratio` * hidden size
  ConfigKey mlp_ratio = {"", 4};
  std::int64_t mlp_divisor = 1;  // of mlp_width: the file has a multiple (Qwen)
  AdjustedWidth mlp_adjusted = {};
  ConfigKey vocabulary = {"vocab_size"};
  ConfigKey context = {"max_position_embeddings"};
  std::vector<std::string> contexts = {};  // without `context`, the largest of these
};

/// The default of transformers for a size that a multimodal file's text_config omits; 0: required.
struct NestedSizes {
  std::int64_t layers = 0, heads = 0, width = 0, mlp_width = 0, vocabulary = 0, context = 0;
};

/// The value of config.json at a key, as JSON: "true", "1", "\"rotary\"". No values: the key
/// exists.
struct ConfigCondition {
  std::string key;
  std::vector<std::string> values = {};
};

}  // namespace attnscope
