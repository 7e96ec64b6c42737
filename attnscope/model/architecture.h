// The description of an architecture, as data: what attnscope must know about a family of models.
// The descriptions are in families/, one file each, listed in known_architectures.h. A layout file
// is such a description in JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/base/role.h"
#include "attnscope/model/attention_rules.h"
#include "attnscope/model/config_keys.h"
#include "attnscope/model/residual_stream_rules.h"

namespace attnscope {

// Layers whose heads and MLPs have shapes of their own, and layers that share keys and values.

/// How the layers of an architecture differ in shape (Gemma 4). Full layers are those that have no
/// window where others have one.
struct LayerShapeRule {
  ConfigKey full_head_dim = {};
  ConfigKey full_kv_heads = {};              // read if values_are_keys
  ConfigFlag values_are_keys = {"", false};  // of full layers: W_K makes their values, too
  ConfigKey sharing_layers = {};             // so many at the end share, see KeyValueSharing
  ConfigFlag doubles_sharing = {"", false};  // the MLPs of those are twice as wide
};

/// Whence a layer has its keys and values.
struct KeyValueSharing {
  /// It takes those that this earlier layer made, after norms and rotation; none: it makes its own.
  std::optional<std::int64_t> from;
  bool values_are_keys = false;  // W_V is W_K, though values pass no rotation and another norm
};

/// Linear keeps (out, in) and computes y = W x; Conv1D keeps (in, out) and computes y = x W.
enum class Storage { out_by_in, in_by_out };

/// In place of a number of groups: one for each kv head, for each row of a part, or for each head.
inline constexpr std::int64_t kPerKvHead = 0, kPerRow = -1, kPerHead = -2;

/// Where one projection is stored. Tensor names are patterns without the model's optional prefix:
/// `{layer}` stands for the layer's number, `{group}` and `{inner}` for ALBERT's shared groups.
struct WeightRule {
  Role role = Role::query;
  std::string tensor;
  Storage storage = Storage::out_by_in;
  /// Everything that the tensor holds, in order, where it holds several projections. Its output
  /// axis is `groups` runs, one after another; each has an equal share of every projection.
  std::vector<Role> fused = {};
  std::int64_t groups = 1;                 // or kPerKvHead
  std::optional<std::int64_t> index = {};  // the slice of the first axis, if the tensor is stacked
  std::string bias = {};                   // its tensor, which must exist; empty: see bias_names()
};

/// Names a tensor that no other rule names. `*` in the pattern matches any text.
struct TensorRule {
  std::string role;  // as `info` prints it
  std::string tensor;
  std::string set_aside = {};  // why analyses of weights leave it out, if one would look for it
};

/// Projections that must have a bias if a flag of config.json is set. Others have one if a file
/// holds it.
struct BiasRule {
  std::vector<Role> roles;
  ConfigFlag needed = {"", true};
};

struct MoeRule;    // expert_and_mixer_rules.h
struct MixerRule;  // likewise

struct Architecture {
  std::string name;
  /// Which part of a model this describes, where a model has several: see `stacks`.
  std::string stack = {};
  std::vector<std::string> model_types;  // config.json: model_type
  /// The family part of the class names in config.json's `architectures`: "GPT2" of
  /// "GPT2LMHeadModel". Used if there is no known model_type.
  std::vector<std::string> class_families;
  ConfigKeys keys;
  NestedSizes nested_sizes = {};
  std::vector<std::string> prefixes = {""};  // of tensor names; the first that fits is used
  std::vector<WeightRule> weights;
  std::vector<BiasRule> biases = {};
  EmbeddingRule embedding = {};
  std::optional<PatchRule> patches = {};  // of images, which are read in place of tokens
  std::optional<AudioRule> audio = {};    // likewise of sound
  std::optional<NormRule> norm = {};      // none: the forward pass is not described
  ScoreRule scores = {};
  std::optional<MlaRule> mla = {};
  MultiplierRule multipliers = {};
  std::optional<WindowRule> window = {};
  std::optional<LayerShapeRule> shapes = {};
  std::optional<RopeRule> rope = {};        // none: positions are not rotary
  bool has_mlp = true;                      // false: layers end with their attention
  std::optional<IndexerRule> indexer = {};  // none: no keys are selected
  std::string activation_key = {};          // of the MLP
  std::string activation = {};              // if the file has none
  /// What the file's "gelu" means (Gemma); empty: gelu.
  std::string gelu_means = {};
  ConfigFlag parallel = {"", false};  // attention and MLP read the same stream
  HeadRule head = {};
  std::optional<DaisyRule> daisy = {};
  std::shared_ptr<const MoeRule> experts = {};   // null: every layer has a dense MLP
  std::shared_ptr<const MixerRule> mixers = {};  // null: every layer attends
  std::optional<ConvolutionRule> convolution = {};
  std::optional<PerLayerInputRule> per_layer_input = {};
  /// A decoder keeps other things than the keys and values of every token (DeepSeek-V4).
  bool compresses_keys = false;
  /// Why the forward pass cannot be computed, of families whose weights alone are described.
  std::string not_run = {};
  std::vector<TensorRule> others = {};  // under the prefix
  /// A tensor (full name, `*` matches any text) that exists only if the model has an output head,
  /// stored or tied. Empty: the model always has one.
  std::string head_marker = "";
  /// Tensors (full names) that repeat another one if a file holds both: {copy, original}.
  std::vector<std::pair<std::string, std::string>> repeated = {};
  bool tied_by_default = true;      // if config.json has no tie_word_embeddings
  std::string other_tied_key = {};  // which counts where the file has it
  /// Files without a head of their own have the embedding, whatever these say (T5).
  bool always_tied = false;
  ConfigFlag causal = {"", true};  // decoders keep a KV cache, encoders do not
  ConfigKey padding_token = {};    // its id
  Bidirectional bidirectional = {};
  /// Families whose files differ in more than numbers: the first of these whose conditions all hold
  /// is used in place of this.
  std::vector<Architecture> layouts = {};
  std::vector<ConfigCondition> conditions = {};
  /// The stacks of layers of a model that has several, each described as a model of its own, with
  /// its name in `stack`: an encoder, a decoder, and the cross attention of its layers; a text and
  /// a vision tower. Nothing else of this description counts then but its names.
  std::vector<Architecture> stacks = {};
  /// The object of config.json that holds a stack's numbers; empty, or not there: the whole.
  std::string section = {};
  /// Buffers in old files, which are not parameters. Full names, `*` matches any text.
  std::vector<std::string> buffers = {};
};

}  // namespace attnscope
