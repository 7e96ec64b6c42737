// What attnscope must know of a family of models, as data. One file per family in architectures/;
// --layout reads the same table from JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/core/role.h"

namespace attnscope {

/// Linear keeps (out, in) and computes y = W x; Conv1D keeps (in, out) and computes y = x W.
enum class Storage { out_by_in, in_by_out };

/// How several projections share the output axis of one tensor.
enum class FusedOrder {
  blocks,       // all of the first, then all of the second, …
  per_kv_head,  // for each kv head in turn: its rows of the first, of the second, …
};

/// Where one projection is kept. Tensor names are patterns without the model's optional prefix:
/// `{layer}` stands for the layer's number, `{group}` and `{inner}` for ALBERT's shared groups.
struct WeightRule {
  Role role = Role::query;
  std::string tensor;
  Storage storage = Storage::out_by_in;
  std::vector<Role> fused = {};  // everything that the tensor holds, in order
  FusedOrder fused_order = FusedOrder::blocks;
  std::optional<std::int64_t> index = {};  // of a stacked tensor: which slice of its first axis
};

/// Names a tensor that is no projection. `*` in the pattern matches any text.
struct TensorRule {
  std::string role;  // as `info` prints it
  std::string tensor;
};

/// A number in config.json, and what transformers takes where the file leaves it out.
struct ConfigKey {
  std::string name;
  std::optional<std::int64_t> fallback = {};
};

struct ConfigKeys {
  ConfigKey layers;
  ConfigKey layer_groups = {"", 1};      // that share weights (ALBERT); no name: not grouped
  ConfigKey layers_per_group = {"", 1};  // distinct layers inside a group
  ConfigKey heads;
  ConfigKey kv_heads = {};  // no name: as many as heads
  ConfigKey head_dim = {};  // no name or no value: width / heads
  ConfigKey width;
  ConfigKey mlp_width;  // no value: 4 * width
  ConfigKey vocabulary = {"vocab_size"};
  ConfigKey context = {"max_position_embeddings"};
};

struct Architecture {
  std::string name;
  std::vector<std::string> model_types;  // config.json: model_type
  /// The family part of the class names in config.json's `architectures`: "GPT2" of
  /// "GPT2LMHeadModel". Used where there is no known model_type.
  std::vector<std::string> class_families;
  ConfigKeys keys;
  std::vector<std::string> prefixes = {""};  // of tensor names; the first that fits is taken
  std::vector<WeightRule> weights;
  std::vector<TensorRule> others = {};   // under the prefix
  std::string embedding;                 // the token embedding, under the prefix
  std::vector<std::string> output_head;  // full names
  /// A tensor (full name, `*` matches any text) whose presence shows that the model has an output
  /// head, kept or tied. Empty: it always has one.
  std::string head_marker = "";
  /// Tensors (full names) that repeat another one where a file holds both: {copy, original}.
  std::vector<std::pair<std::string, std::string>> repeated = {};
  bool tied_by_default = true;  // what a config.json without tie_word_embeddings means
  bool causal = true;           // decoders keep a KV cache, encoders do not
  /// Buffers that old files hold: no parameters. Full names, `*` matches any text.
  std::vector<std::string> buffers = {};
};

}  // namespace attnscope
