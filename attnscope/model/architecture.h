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
  std::string bias = {};  // its tensor, which files must hold; empty: see bias_names()
};

/// Names a tensor that the forward pass does not read. `*` in the pattern matches any text.
struct TensorRule {
  std::string role;  // as `info` prints it
  std::string tensor;
};

/// A number in config.json, and what transformers takes where the file leaves it out. Null in a
/// file means no number, whatever the fallback.
struct ConfigKey {
  std::string name;
  std::optional<std::int64_t> fallback = {};
};

/// The same for a number that need not be whole.
struct ConfigNumber {
  std::string name;  // empty: always the fallback
  std::optional<double> fallback = {};
};

/// The same for true and false.
struct ConfigFlag {
  std::string name;  // empty: always the fallback
  bool fallback = false;
};

struct ConfigKeys {
  ConfigKey layers;
  ConfigKey layer_groups = {"", 1};      // that share weights (ALBERT); no name: not grouped
  ConfigKey layers_per_group = {"", 1};  // distinct layers inside a group
  ConfigKey heads;
  ConfigKey kv_heads = {};  // no name, or null: as many as heads
  ConfigKey head_dim = {};  // no name or no value: width / heads
  ConfigKey width;
  ConfigKey mlp_width;  // no value: 4 * width
  ConfigKey vocabulary = {"vocab_size"};
  ConfigKey context = {"max_position_embeddings"};
  std::vector<std::string> contexts = {};  // the largest of them where `context` is absent
};

/// Projections that have a bias where a flag of config.json says so. Others have one where a file
/// holds it.
struct BiasRule {
  std::vector<Role> roles;
  ConfigFlag needed = {"", true};
};

enum class NormKind {
  layer,  // (x - mean) / sqrt(variance + epsilon)
  rms,    // x / sqrt(mean of squares + epsilon)
};

/// All norms of an architecture are of one kind. Names are patterns under the prefix, without the
/// `.weight` (or `.gamma`, as old files have it) of the gain and the `.bias` (`.beta`) after it.
/// With no name there is no such norm.
struct NormRule {
  NormKind kind = NormKind::layer;
  ConfigNumber epsilon = {};
  ConfigNumber gain_offset = {"", 0};  // the gain is this + the stored value; 1 for Gemma
  ConfigFlag affine = {"", true};      // false: norms have neither gain nor bias
  std::string attention_input = {};    // before the attention, of what it reads
  std::string attention_output = {};   // after it, before it is added to the stream
  std::string attention_sum = {};      // of the sum
  std::string mlp_input = {};
  std::string mlp_output = {};
  std::string mlp_sum = {};
  std::string last = {};  // after the last layer
  /// Where both kinds exist: false, and the norms of inputs are norms of sums, and there is none
  /// after the last layer (OPT).
  ConfigFlag first = {"", true};
  /// True, and there is none after the last layer (OPT).
  ConfigFlag without_last = {"", false};
  std::string query = {}, key = {};          // of each head
  ConfigFlag queries_and_keys = {"", true};  // whether those two are there
  bool bare_heads = false;                   // queries, keys and values pass norms without gains
  bool bare_stream = false;                  // the embedding, and what MLPs and the head read, do
};

/// What turns scores into weights.
struct ScoreRule {
  ConfigNumber scale = {};            // of q k; none: 1 / sqrt(head dimension)
  ConfigKey scale_dimension = {};     // 1 / sqrt(this) instead (Gemma 2 and 3)
  ConfigFlag scaled = {"", true};     // false: not scaled at all
  ConfigFlag by_layer = {"", false};  // true: divided by the layer's number, counted from 1
  ConfigNumber soft_cap = {};         // c tanh(score / c) before the mask
};

/// Which layers see no more than a window.
enum class WindowedLayers {
  all,
  even,          // layers 0, 2, 4 …
  from_layer,    // those from a number in config.json on
  but_every,     // all but every n-th
  listed_kinds,  // "local" in GPT-Neo's attention_layers or attention_types
};

/// A token sees itself and the W - 1 tokens before it.
struct WindowRule {
  ConfigKey size;                   // W; no value: no layer has a window
  ConfigFlag enabled = {"", true};  // false: no layer has one
  WindowedLayers layers = WindowedLayers::all;
  ConfigKey number = {};           // of from_layer and but_every
  bool reads_layer_types = false;  // "sliding_attention" in `layer_types` goes before `layers`
};

/// Rotary position: which numbers of config.json say how Q and K are turned. Every family turns the
/// halves of the rotated dimensions against each other.
struct RopeRule {
  std::string theta_key = "rope_theta";
  double theta = 10000;               // where the file says none
  std::string fraction_key = {};      // share of the head that is turned; empty: always `fraction`
  double fraction = 1;                // where the file says none
  std::int64_t original_context = 0;  // where the file says none; 0: its context
  std::string local_theta_key = {};   // of windowed layers (Gemma 3), which are never scaled
  double local_theta = 10000;
  bool yarn_is_longrope = false;  // as old files of Phi-3 name it
  /// Frequencies theta^(-k / (n - 1)) of the first n = head_dim / 4 pairs, zero of as many more,
  /// turned the other way (daisy).
  bool half_truncated = false;
};

/// What makes the tokens of a decoder see each other both ways, as embedding models do.
struct BothWays {
  bool by_is_causal = true;       // config.json's "is_causal": false; windows then reach W tokens
                                  // each way
  ConfigFlag flag = {"", false};  // of the family (Gemma 3); windows then reach W / 2 each way
  ConfigFlag unclear = {"", false};  // of which transformers' own attentions make different things
};

/// What the stream is before layer 0. Names are under the prefix.
struct EmbeddingRule {
  std::string tokens = {};               // (V, E)
  std::string positions = {};            // learned, (context, D)
  std::int64_t position_offset = 0;      // the first token's row
  bool positions_after_padding = false;  // rows are counted from pad_token_id, as RoBERTa does
  std::string types = {};                // of tokens, (types, D); row 0 is added
  std::string norm = {};                 // of their sum; named as in NormRule
  std::string projection = {};  // E → D: of the norm's output, or of the tokens where that is said
  bool projects_tokens = false;
  ConfigKey width = {};  // E; no name, or null: D
  bool times_sqrt_width = false;
  std::string last_projection = {};  // D → E, after the last norm
};

/// What turns the last hidden state into logits. Full names.
struct HeadRule {
  std::vector<std::string> weight = {};  // (V, E); the first that a file holds
  bool needed = false;                   // there are files without a head; true: not of this model
  std::vector<std::string> bias = {};    // likewise
  bool needs_bias = false;
  std::string dense = {}, norm = {};  // of masked-language models: before the weight
  std::string activation = {};        // after `dense`; empty: the MLP's
  ConfigNumber soft_cap = {};
};

/// What daisy's layers do beside attention and MLP. Full names.
struct DaisyRule {
  std::string scalars;       // weights of skips, of the stream and the embedding, of values
  std::string value_tables;  // pattern; `*` stands for 0, 1, 2
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
  std::vector<BiasRule> biases = {};
  EmbeddingRule embedding = {};
  std::optional<NormRule> norm = {};  // none: not described, and so is the forward pass
  ScoreRule scores = {};
  std::optional<WindowRule> window = {};
  std::optional<RopeRule> rope = {};  // none: positions are not rotary
  bool has_mlp = true;                // false: layers end with their attention
  std::string activation_key = {};    // of the MLP
  std::string activation = {};        // where the file says none
  /// What the file's "gelu" means (Gemma); empty: gelu.
  std::string gelu_means = {};
  ConfigFlag parallel = {"", false};  // attention and MLP read the same stream
  HeadRule head = {};
  std::optional<DaisyRule> daisy = {};
  std::vector<TensorRule> others = {};  // under the prefix
  /// A tensor (full name, `*` matches any text) whose presence shows that the model has an output
  /// head, kept or tied. Empty: it always has one.
  std::string head_marker = "";
  /// Tensors (full names) that repeat another one where a file holds both: {copy, original}.
  std::vector<std::pair<std::string, std::string>> repeated = {};
  bool tied_by_default = true;     // what a config.json without tie_word_embeddings means
  ConfigFlag causal = {"", true};  // decoders keep a KV cache, encoders do not
  ConfigKey padding_token = {};    // its id
  BothWays both_ways = {};
  /// Buffers that old files hold: no parameters. Full names, `*` matches any text.
  std::vector<std::string> buffers = {};
};

}  // namespace attnscope
