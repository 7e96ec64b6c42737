// The description of an architecture as data: what attnscope must know about a family of models.
// The descriptions are in families/, one file each, and listed in known_architectures.h. A layout
// file is such a description in JSON.
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

// Layers whose heads and MLPs have individual shapes, and layers that share keys and values.

/// How the layers of an architecture differ in shape (Gemma 4). A full layer has no sliding window,
/// in a model whose other layers have one.
struct LayerShapeRule {
  ConfigKey full_head_dim = {};
  ConfigKey full_kv_heads = {};              // used if values_are_keys
  ConfigFlag values_are_keys = {"", false};  // full layers: W_K also computes their values
  ConfigKey sharing_layers = {};             // number of last layers that share, see
                                             // KeyValueSharing
  ConfigFlag doubles_sharing = {"", false};  // the MLPs of layers that share are twice as wide
};

/// Patch merging between stages: 2 x 2 patches become one. Their states are concatenated column by
/// column, normalized and projected to the next hidden size. Zeros complete odd rows and columns.
/// Source: Swin, arXiv 2103.14030.
struct PatchMergingRule {
  std::string norm, projection;  // patterns under the prefix
  bool norm_last = false;        // the norm follows the projection (Swin v2)
  double epsilon = 1e-5;         // of the norm, whatever the epsilon of other norms
};

/// Layers in stages with different sizes (Swin, SegFormer). In names, `{group}` stands for the
/// stage and `{inner}` for the number of the layer in its stage. The lists have one entry per
/// stage.
struct StageRule {
  ConfigList depths, heads;     // numbers of layers and of heads
  ConfigList widths = {};       // hidden sizes; no name: the hidden size doubles per stage
  std::string mlp_ratios = {};  // key of the list of MLP ratios; empty: `keys.mlp_ratio`
  std::optional<PatchMergingRule> merging = {};  // after every stage but the last
};

/// Where a layer's keys and values come from.
struct KeyValueSharing {
  /// The earlier layer whose keys and values are reused, after norms and rotation. None: the layer
  /// computes its own.
  std::optional<std::int64_t> from;
  bool values_are_keys = false;  // W_V is W_K, but values have another norm and are not rotated
};

/// Linear stores (out, in) and computes y = W x. Conv1D stores (in, out) and computes y = x W.
enum class Storage { out_by_in, in_by_out };

/// Special numbers of groups: one group per key/value head, per row of a projection, or per head.
inline constexpr std::int64_t kPerKvHead = 0, kPerRow = -1, kPerHead = -2;

/// Where one projection is stored. Tensor names are patterns without the model's optional prefix:
/// `{layer}` stands for the layer's number, `{group}` and `{inner}` for ALBERT's shared groups.
struct WeightRule {
  Role role = Role::query;
  std::string tensor;
  Storage storage = Storage::out_by_in;
  /// If the tensor contains several projections: all of them, in order. The output axis consists of
  /// `groups` consecutive runs, and each run has an equal share of every projection.
  std::vector<Role> fused = {};
  std::int64_t groups = 1;                 // or kPerKvHead
  std::optional<std::int64_t> index = {};  // the slice of the first axis, if the tensor is stacked
  std::string bias = {};                   // the bias tensor, which must exist; empty: see
                                           // bias_names()
  bool own_bias = false;                   // `bias` is only of this projection, not of all fused
                                           // ones
  bool is_other_name = false;              // used if the tensor of an earlier rule of the role is
                                           // missing
  bool splits_heads = false;               // the axis of heads is stored as two axes, (H, d)
  bool concatenated = false;               // experts: their matrices follow each other along the
                                           // first of two axes (DBRX)
};

/// Gives a role to a tensor that no other rule names. `*` in the pattern matches any text.
struct TensorRule {
  std::string role;  // as `info` prints it
  std::string tensor;
  std::string set_aside = {};  // why weight analyses skip it, if a user might expect it there
};

/// Projections that must have a bias if a flag of config.json is set. Other projections have a bias
/// if a file contains one.
struct BiasRule {
  std::vector<Role> roles;
  ConfigFlag needed = {"", true};
};

/// The longest text for which the description is exact. Longer texts are refused, because the model
/// then computes attention in another way: unit · (units + 2 · more_units) tokens.
struct LongestRule {
  ConfigKey unit;  // tokens
  std::int64_t units = 1;
  ConfigKey more_units = {};
};

struct MoeRule;    // see expert_and_mixer_rules.h
struct MixerRule;  // see expert_and_mixer_rules.h

struct Architecture {
  std::string name;
  /// The stack that this describes, if the model has several: see `stacks`.
  std::string stack = {};
  std::vector<std::string> model_types;  // model_type in config.json
  /// The family part of the class names in config.json's `architectures`: "GPT2" in
  /// "GPT2LMHeadModel". Used if the model_type is missing or unknown.
  std::vector<std::string> class_families;
  ConfigKeys keys;
  NestedSizes nested_sizes = {};
  std::vector<std::string> prefixes = {""};  // of tensor names; the first that fits is used
  std::vector<WeightRule> weights;
  std::vector<BiasRule> biases = {};
  EmbeddingRule embedding = {};
  std::optional<PatchRule> patches = {};  // vision models: images are the input instead of tokens
  std::optional<AudioRule> audio = {};    // audio models
  std::optional<NormRule> norm = {};      // none: the forward pass is not described
  ScoreRule scores = {};
  std::optional<MlaRule> mla = {};
  MultiplierRule multipliers = {};
  std::optional<WindowRule> window = {};
  std::optional<PatchWindowRule> patch_windows = {};
  std::optional<LayerShapeRule> shapes = {};
  std::optional<StageRule> stages = {};     // none: all layers have the same hidden size
  std::optional<RopeRule> rope = {};        // none: no rotary position embeddings
  bool has_mlp = true;                      // false: layers end with their attention
  std::optional<IndexerRule> indexer = {};  // none: no keys are selected
  std::string activation_key = {};          // of the MLP
  std::string activation = {};              // if the file has none
  /// What "gelu" means in the file (Gemma); empty: gelu.
  std::string gelu_means = {};
  ConfigFlag parallel = {"", false};  // attention and MLP read the same residual stream
  HeadRule head = {};
  /// Heads of classifiers. Of several for one task, the first whose weight a file contains. Empty
  /// for a decoder: the usual ones, see config/label_config.cpp.
  std::vector<LabelHeadRule> label_heads = {};
  std::optional<DaisyRule> daisy = {};
  std::shared_ptr<const MoeRule> experts = {};   // null: every layer has a dense MLP
  std::shared_ptr<const MixerRule> mixers = {};  // null: every layer has attention
  std::optional<ConvolutionRule> convolution = {};
  std::optional<PerLayerInputRule> per_layer_input = {};
  std::optional<AltUpRule> altup = {};
  std::optional<LaurelRule> laurel = {};
  std::optional<ConformerRule> conformer = {};
  /// A list in config.json: the share of each layer's MLP gates that are zeroed, see
  /// LayerSpec::gate_cutoff. Null or missing: 0.95 in the first 10 layers of more than 10, else 0.
  std::string gate_sparsity_key = {};
  /// A decoder caches something other than the keys and values of every token (DeepSeek-V4).
  bool compresses_keys = false;
  /// Why the forward pass cannot be computed, for families with described weights only.
  std::string not_run = {};
  std::vector<TensorRule> others = {};  // under the prefix
  /// A tensor (full name, `*` matches any text) that exists only if the model has an LM head,
  /// stored or tied. Empty: the model always has one.
  std::string head_marker = "";
  /// Tensors (full names) that repeat another one if a file contains both: {copy, original}.
  std::vector<std::pair<std::string, std::string>> repeated = {};
  bool tied_by_default = true;      // if config.json has no tie_word_embeddings
  std::string other_tied_key = {};  // takes precedence if the file has it
  /// Files without their own LM head use the embedding, regardless of these settings (T5).
  bool always_tied = false;
  ConfigFlag causal = {"", true};  // decoders have a KV cache, encoders do not
  ConfigKey padding_token = {};    // the padding token id
  Bidirectional bidirectional = {};
  std::optional<LongestRule> longest = {};  // none: no limit
  /// Variants of a family whose files differ in more than numbers. The first variant whose
  /// conditions all hold replaces this description.
  std::vector<Architecture> layouts = {};
  std::vector<ConfigCondition> conditions = {};
  /// The stacks of a model, if it has several: encoder, decoder and cross-attention, or text and
  /// vision. Each is described as its own model, with its name in `stack`. Of this description only
  /// the names apply then.
  std::vector<Architecture> stacks = {};
  /// The stacks are an encoder and a decoder of other architectures. The objects `encoder` and
  /// `decoder` of config.json describe them.
  bool of_two_models = false;
  /// The cross-attention that this decoder has in such a model; null: it has none.
  std::shared_ptr<const Architecture> cross = {};
  /// Cross-attention: it reads a projection of the encoder output. A full name without `.weight`.
  std::string source_projection = {};
  /// The object in config.json with the sizes of a stack. Empty or missing: the whole file.
  std::string section = {};
  /// Buffers in old files, which are not parameters. Full names, `*` matches any text.
  std::vector<std::string> buffers = {};
};

/// Returns the layout of files that meet `condition`. `not_run` states why they cannot be run.
inline Architecture not_run_if(Architecture layout, ConfigCondition condition,
                               std::string not_run) {
  layout.conditions = {std::move(condition)};
  layout.not_run = std::move(not_run);
  return layout;
}

}  // namespace attnscope
