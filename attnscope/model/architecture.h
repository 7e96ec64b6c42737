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

#include "attnscope/core/role.h"
#include "attnscope/model/score_bias.h"

namespace attnscope {

/// Linear keeps (out, in) and computes y = W x; Conv1D keeps (in, out) and computes y = x W.
enum class Storage { out_by_in, in_by_out };

/// In place of a number of groups: one for each kv head, or for each row of a part.
inline constexpr std::int64_t kPerKvHead = 0, kPerRow = -1;

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

/// Names a tensor that the forward pass does not read. `*` in the pattern matches any text.
struct TensorRule {
  std::string role;  // as `info` prints it
  std::string tensor;
};

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
  ConfigKey mlp_width;  // no value: 4 * width
  ConfigKey vocabulary = {"vocab_size"};
  ConfigKey context = {"max_position_embeddings"};
  std::vector<std::string> contexts = {};  // without `context`, the largest of these
};

/// What transformers takes where a multimodal file's text_config leaves a size out; 0: it must say.
struct NestedSizes {
  std::int64_t layers = 0, heads = 0, width = 0, mlp_width = 0, vocabulary = 0, context = 0;
};

/// Projections that must have a bias if a flag of config.json is set. Others have one if a file
/// holds it.
struct BiasRule {
  std::vector<Role> roles;
  ConfigFlag needed = {"", true};
};

enum class NormKind {
  layer,  // (x - mean) / sqrt(variance + epsilon)
  rms,    // x / sqrt(mean of squares + epsilon)
};

/// What one norm of queries or keys is taken over, and the shape of its gain.
enum class HeadNormAxis {
  head,       // each head, all with one gain (d,)
  each_head,  // each head, with a gain of its own: (H, d), or a tensor for each `{head}`
  all_heads,  // all heads together, before they are cut: (H d,)
};

/// All norms of an architecture are of one kind. Names are patterns under the prefix, without the
/// `.weight` (or `.gamma`, as old files have it) of the gain and the `.bias` (`.beta`) after it. An
/// empty name means that there is no such norm.
struct NormRule {
  NormKind kind = NormKind::layer;
  ConfigNumber epsilon = {};
  ConfigNumber gain_offset = {"", 0};  // the gain is this + the stored value; 1 for Gemma
  ConfigFlag affine = {"", true};      // false: norms have neither gain nor bias
  ConfigFlag biased = {"", true};      // false: norms of kind `layer` have a gain only
  std::string attention_input = {};    // of the attention's input
  std::string attention_output = {};   // of its output, before that is added to the stream
  std::string attention_sum = {};      // of the stream after the addition
  std::string mlp_input = {};
  std::string mlp_output = {};
  std::string mlp_sum = {};
  std::string last = {};  // after the last layer
  /// False: the norms of inputs are norms of sums instead, and there is none after the last layer
  /// (OPT).
  ConfigFlag first = {"", true};
  /// True: there is no norm after the last layer (OPT).
  ConfigFlag without_last = {"", false};
  std::string query = {}, key = {};          // of each head
  ConfigFlag queries_and_keys = {"", true};  // whether those two exist
  HeadNormAxis head_axis = HeadNormAxis::head;
  bool heads_biased = true;         // false: those two have a gain only
  bool after_rotation = false;      // queries and keys are rotated before their norms
  bool shared_if_parallel = false;  // of parallel layers, attention and MLP read one norm
  bool bare_heads = false;          // norms without gains for queries, keys and values
  bool bare_stream = false;         // likewise for the embedding and the inputs of MLPs and head
  /// True: layer 0 has no norm of its attention's input (ModernBERT).
  bool not_in_first_layer = false;
  /// True: attention and MLP are added to their normed input, not to what the norm read (BLOOM).
  ConfigFlag replaces_stream = {"", false};
};

/// Queries of later positions t are larger: q (1 + `growth` ln(1 + floor(t / `period`))). Both are
/// keys of rope_parameters (Ministral 3).
struct TemperatureRule {
  ConfigNumber growth = {};  // no value: queries stay as they are
  ConfigKey period = {};     // tokens
};

/// DeBERTa's disentangled attention: of each distance there is an embedding, with a query and a key
/// of its own in every layer. Scores are those of query and key, of the query and the distance's
/// key ("c2p"), and of the distance's query and the key ("p2c"), divided by the root of how many of
/// the three there are. Source: arXiv 2006.03654; transformers, modeling_deberta_v2.py.
struct DisentangledRule {
  ConfigFlag enabled = {"", true};
  std::string kinds_key = {};  // of config.json: "c2p|p2c", or a list
  std::string table;           // of the embeddings, under the prefix: 2 span rows of D
  std::string norm = {};       // of them
  std::string norm_key = {};   // of config.json: says "layer_norm" where there is that norm
  ConfigKey buckets = {};      // the span; not positive: every distance has its own embedding
  ConfigKey distant = {};  // tokens; not positive: the context. The span, if there are no buckets
  ConfigFlag shared = {"", false};   // true: distances have queries and keys as tokens have
  std::string query = {}, key = {};  // else the weights of theirs, patterns under the prefix
};

/// How scores are scaled before the softmax.
struct ScoreRule {
  ConfigNumber scale = {};            // factor of q k; none: 1 / sqrt(head dimension)
  ConfigKey scale_dimension = {};     // 1 / sqrt(this) instead (Gemma 2 and 3)
  ConfigFlag scaled = {"", true};     // false: not scaled at all
  ConfigFlag by_layer = {"", false};  // true: divided by the layer's number, counted from 1
  /// Of stretched texts: times the square of yarn's gain of `mscale_all_dim` (DeepSeek).
  bool times_yarn_gain = false;
  ConfigNumber soft_cap = {};  // c tanh(score / c) before the mask
  TemperatureRule temperature = {};
  ConfigNumber clip =
      {};  // queries, keys and values are cut to ± this after their norms; 0: are not
  // What is added to scores; at most one of these.
  std::optional<Alibi> alibi = {};
  std::optional<BucketBias> buckets = {};
  std::optional<DisentangledRule> disentangled = {};
  /// A pattern under the prefix, (H,): scores of a column that has no key and no value.
  std::string sinks = {};
};

/// Which layers have a window.
enum class WindowedLayers {
  all,
  even,          // layers 0, 2, 4 …
  even_below,    // likewise, below a layer number in config.json
  from_layer,    // from a layer number in config.json on
  but_every,     // all but every n-th
  unrotated,     // those that do not rotate
  but_first_of,  // all but layers 0, n, 2 n …
  listed_kinds,  // "local" in GPT-Neo's attention_layers or attention_types
};

/// A token sees itself and the W - 1 tokens before it.
struct WindowRule {
  ConfigKey size;                   // W; no value: no layer has a window
  ConfigFlag enabled = {"", true};  // false: no layer has one
  WindowedLayers layers = WindowedLayers::all;
  ConfigKey number = {};           // of even_below, from_layer, but_every and but_first_of
  bool reads_layer_types = false;  // `layer_types` ("sliding_attention") overrides `layers`
};

/// Which layers rotate queries and keys.
enum class RotatedLayers {
  all,
  windowed,           // those of the kind that has a window
  windowed_if_sized,  // likewise, and all where the file gives windows no size
  listed,             // 1 in a list of config.json; without it, all but every n-th
};

/// Rotary positions: the numbers of config.json that say how Q and K are rotated.
struct RopeRule {
  std::string theta_key = "rope_theta";
  double theta = 10000;           // if the file has none
  std::string fraction_key = {};  // share of the head that is rotated; empty: always `fraction`
  double fraction = 1;            // if the file has none
  ConfigKey dimensions = {};      // how many dimensions of a head are rotated, in its place
  ConfigFlag neighbours = {"", false};  // pairs are dimensions 2k, 2k + 1; else k, k + n
  bool scales_windowed = true;  // false: only full layers are scaled, unless the file says both
  RotatedLayers layers = RotatedLayers::all;
  std::string layer_list = {};        // of `listed`
  ConfigKey interval = {};            // n of `listed`
  std::int64_t original_context = 0;  // if the file has none; 0: its context
  std::string local_theta_key = {};   // theta of windowed layers (Gemma 3), which are never scaled
  double local_theta = 10000;
  std::string alpha_key = {};         // of dynamic scaling, see Rope::alpha; empty: not read
  bool yarn_is_longrope = false;  // as old files of Phi-3 name it
  /// Frequencies theta^(-k / (n - 1)) for the first n = head_dim / 4 pairs, zero for the next n,
  /// rotated in the opposite direction (daisy).
  bool half_truncated = false;
  /// Scaled frequencies are those of short texts at every length, and `short_mscale` or, beyond the
  /// original context, `long_mscale` is the gain (PhiMoE).
  bool gains_by_length = false;
  /// JSON: what rope_parameters are if the file has none. Empty: not scaled.
  std::string standard = {};
};

/// Keys that let the tokens of a decoder see each other both ways, as in embedding models.
struct BothWays {
  bool by_is_causal = true;       // config.json's "is_causal": false; windows then reach W tokens
                                  // each way
  ConfigFlag flag = {"", false};  // of the family (Gemma 3); windows then reach W / 2 each way
  ConfigFlag unclear = {"", false};  // if set, transformers' attention implementations disagree
};

/// Multi-head latent attention: queries, and keys with values, are made of two narrow latents, each
/// with a norm. A head's queries and keys are `plain` dimensions, then `rotary` ones, which alone
/// turn; those of keys come from the stream and serve all heads. The matrices are the roles q_a,
/// q_b, kv_a and kv_b, or q where queries have no latent. As many key/value heads as heads.
/// Source: DeepSeek-V2 (arXiv 2405.04434), section 2.1.
struct LatentRule {
  ConfigKey query_rank;  // null in the file: queries have no latent
  ConfigKey rank;        // of the latent of keys and values
  ConfigKey plain_dim, rotary_dim;
  ConfigKey value_dim;                     // no value: width / heads
  std::string query_norm = {}, norm = {};  // of the latents, both RMS norms
  double epsilon = 1e-6;                   // theirs, whatever that of other norms is
};

/// Constant factors on the way of the stream.
struct MultiplierRule {
  ConfigNumber embedding = {};
  ConfigNumber branches = {};  // of what attention and MLP add to the stream
  bool by_depth = false;       // that number is divided by the square root of the layers (MiniCPM)
  ConfigNumber logits = {};
  ConfigNumber logits_divisor = {};
  ConfigKey logits_width = {};  // logits are divided by width / this (MiniCPM)
};

/// The stream before layer 0. Names are under the prefix.
struct EmbeddingRule {
  std::string tokens = {};     // (V, E)
  std::string positions = {};  // learned, (context, D)
  ConfigFlag has_positions = {"", true};
  std::int64_t position_offset = 0;      // the first token's row
  bool positions_after_padding = false;  // rows are counted from pad_token_id (RoBERTa)
  std::string types = {};                // of tokens, (types, D); row 0 is added
  ConfigKey type_count = {};             // 0: there are none
  std::string norm = {};                 // of their sum; named as in NormRule
  ConfigFlag has_norm = {"", true};
  std::string projection = {};  // E → D: of the norm's output; of tokens if projects_tokens
  bool projects_tokens = false;
  bool projects_if_narrow = false;  // where E is D, there is none
  bool norms_projected = false;     // the norm, of D, is of the projection's output
  ConfigKey width = {};             // E; no name, or null: D
  /// True: `masked_token` is embedded as zeros, and all others are multiplied by 0.88 and divided
  /// by their share of the text (ESM).
  ConfigFlag drops_masked = {"", false};
  ConfigKey masked_token = {};
  bool times_sqrt_width = false;
  std::string last_projection = {};  // D → E, after the last norm
};

/// From the last hidden state to logits. Full names.
struct HeadRule {
  std::vector<std::string> weight = {};  // (V, E); the first that a file holds
  bool needed = false;                   // false: files without a head are valid
  std::vector<std::string> bias = {};    // likewise
  bool needs_bias = false;
  std::string dense = {}, norm = {};  // before the weight, in masked-language models
  /// Their names in other files, which are used where a file holds no `dense`.
  std::string other_dense = {}, other_norm = {};
  std::string activation_key = {};  // of config.json: of the one after `dense`
  std::string activation = {};      // if the file has none; empty: the MLP's
  ConfigNumber soft_cap = {};
};

/// Layer 0 gives norm(x + activation(the embedding, convolved along the text)), x what it gave
/// (DeBERTa). Names are under the prefix.
struct ConvolutionRule {
  ConfigKey kernel;    // tokens; 0: there is none
  ConfigKey groups;    // only 1 is run
  std::string tensor;  // (D, D, kernel)
  std::string norm;
  std::string activation_key, activation;
};

/// What daisy's layers have beside attention and MLP. Full names.
struct DaisyRule {
  std::string scalars;       // weights of skips, of the stream and the embedding, of values
  std::string value_tables;  // pattern; `*` stands for 0, 1, 2
};

struct MoeRule;  // expert_rule.h

/// What config.json says at a key, as JSON: "true", "1", "\"rotary\"". No values: the key is there.
struct ConfigCondition {
  std::string key;
  std::vector<std::string> values = {};
};

struct Architecture {
  std::string name;
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
  std::optional<NormRule> norm = {};  // none: the forward pass is not described
  ScoreRule scores = {};
  std::optional<LatentRule> latent = {};
  MultiplierRule multipliers = {};
  std::optional<WindowRule> window = {};
  std::optional<RopeRule> rope = {};  // none: positions are not rotary
  bool has_mlp = true;                // false: layers end with their attention
  /// A query sees only as many keys, which a learned index selects. That is not computed, so longer
  /// texts are not run (DeepSeek-V3.2).
  ConfigKey selected_keys = {};
  std::string activation_key = {};  // of the MLP
  std::string activation = {};      // if the file has none
  /// What the file's "gelu" means (Gemma); empty: gelu.
  std::string gelu_means = {};
  ConfigFlag parallel = {"", false};  // attention and MLP read the same stream
  HeadRule head = {};
  std::optional<DaisyRule> daisy = {};
  std::shared_ptr<const MoeRule> experts = {};  // null: every layer has a dense MLP
  std::optional<ConvolutionRule> convolution = {};
  std::vector<TensorRule> others = {};  // under the prefix
  /// A tensor (full name, `*` matches any text) that exists only if the model has an output head,
  /// stored or tied. Empty: the model always has one.
  std::string head_marker = "";
  /// Tensors (full names) that repeat another one if a file holds both: {copy, original}.
  std::vector<std::pair<std::string, std::string>> repeated = {};
  bool tied_by_default = true;     // if config.json has no tie_word_embeddings
  ConfigFlag causal = {"", true};  // decoders keep a KV cache, encoders do not
  ConfigKey padding_token = {};    // its id
  BothWays both_ways = {};
  /// Families whose files differ in more than numbers: the first of these whose conditions all hold
  /// is used in place of this.
  std::vector<Architecture> layouts = {};
  std::vector<ConfigCondition> conditions = {};
  /// Buffers in old files, which are not parameters. Full names, `*` matches any text.
  std::vector<std::string> buffers = {};
};

}  // namespace attnscope
