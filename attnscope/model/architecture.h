// The description of an architecture, as data: what attnscope must know of a family of models. The
// descriptions themselves are in families/, one file each, and known_architectures.h lists them; a
// layout file is one more, written in JSON.
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

/// The norm whose output Q, K and V read. Patterns of its gain under the prefix, of size D; a name
/// that ends in `.weight` also stands for `.gamma`, as old files have it.
struct NormRule {
  std::string own;        // norm first: the layer's, before its attention
  std::string previous;   // norm last: the one that ends a layer, which the next layer reads
  std::string embedding;  // norm last: what layer 0 reads; empty: no norm of size D comes before it
  /// Where both kinds exist: the flag in config.json that is true (its default) for norm first.
  std::string first_key;
  double offset = 0;    // the gain is this + the stored value; 1 for Gemma
  bool centres = true;  // LayerNorm takes the mean away; RMSNorm does not
};

/// Rotary position: which numbers of config.json say how Q and K are turned. Every family here
/// turns the halves of the rotated dimensions against each other.
/// Keys that are absent are looked for in `rope_parameters` too, as transformers 5 writes them.
struct RopeRule {
  std::string theta_key = "rope_theta";
  double theta = 10000;                                // where the file says none
  std::string fraction_key = "partial_rotary_factor";  // share of the head that is turned
  double fraction = 1;                                 // where the file says none
  std::string local_theta_key = {};  // of sliding-window layers (Gemma 3), which are never scaled
  double local_theta = 10000;
  std::string pattern_key = {};  // every how many layers one is global
  std::int64_t pattern = 0;
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
  bool tied_by_default = true;        // what a config.json without tie_word_embeddings means
  bool causal = true;                 // decoders keep a KV cache, encoders do not
  std::optional<NormRule> norm = {};  // none: not described
  std::optional<RopeRule> rope = {};  // none: positions are not rotary
  /// Buffers that old files hold: no parameters. Full names, `*` matches any text.
  std::vector<std::string> buffers = {};
};

}  // namespace attnscope
