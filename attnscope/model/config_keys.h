// Keys of config.json, and what transformers takes where a file leaves them out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attnscope {

/// A number in config.json, and the value that transformers takes if the key is absent. Null in a
/// file means no number, whatever the fallback. A dot in a name leads into a nested object.
struct ConfigKey {
  std::string name;
  std::optional<std::int64_t> fallback = {};
  std::string other_name = {};  // which counts where the file has it
};

/// The same for a real number.
struct ConfigNumber {
  std::string name;  // empty: always the fallback
  std::optional<double> fallback = {};
};

/// The same for true and false.
struct ConfigFlag {
  std::string name;  // empty: always the fallback
  bool fallback = false;
  std::string other_name = {};  // which counts where the file has it
};

/// LFM2's MLPs: two thirds of the width that the file says, times a factor, and of that the next
/// multiple. Where the factor is null, only two thirds.
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
  ConfigFlag one_kv_head = {"", false};  // true: one, whatever kv_heads says
  ConfigKey head_dim = {};               // no name or no value: width / heads
  ConfigKey width;
  ConfigKey mlp_width;  // no value: `mlp_ratio` * width
  ConfigKey mlp_ratio = {"", 4};
  AdjustedWidth mlp_adjusted = {};
  ConfigKey vocabulary = {"vocab_size"};
  ConfigKey context = {"max_position_embeddings"};
  std::vector<std::string> contexts = {};  // without `context`, the largest of these
};

/// What transformers takes where a multimodal file's text_config leaves a size out; 0: it must say.
struct NestedSizes {
  std::int64_t layers = 0, heads = 0, width = 0, mlp_width = 0, vocabulary = 0, context = 0;
};

/// What config.json says at a key, as JSON: "true", "1", "\"rotary\"". No values: the key is there.
struct ConfigCondition {
  std::string key;
  std::vector<std::string> values = {};
};

}  // namespace attnscope
