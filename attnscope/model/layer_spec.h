// The forward pass of a model as data, resolved from config.json and the description of its
// architecture. `info`, norm folding, rotation and the forward pass all read it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/base/activation.h"
#include "attnscope/model/architecture.h"
#include "attnscope/model/expert_and_mixer_rules.h"
#include "attnscope/model/mixer_spec.h"
#include "attnscope/model/rope.h"

namespace attnscope {

// The mixture of experts of a layer, resolved from config.json.

/// See MoeRule. Dimensions has the number and sizes of the experts.
struct ExpertSpec {
  std::int64_t chosen = 0;  // k
  RouterScore score = RouterScore::softmax;
  double jitter = 0;
  std::vector<std::string> choice_bias;
  std::int64_t groups = 1, kept_mlp_groups = 1;
  GroupScore group_score = GroupScore::best;
  bool normalize = false;
  double normalize_epsilon = 0, normalize_least = 0;
  double times = 1;
  bool weighs_input = false;
  std::optional<double> clamp;
  double alpha = 1;
  std::string shared_weight;   // pattern under the prefix; empty: the output of shared experts is
                               // not gated
  std::string expert_factors;  // pattern under the prefix; empty: all factors are 1
  std::string latent_down, latent_up;  // see MoeRule; empty: experts read D dimensions
  std::optional<ExpertNorms> norms;
};

/// A norm over the last axis. `tensor` is a pattern under the prefix, without `.weight` and
/// `.bias`. Empty: the norm has neither gain nor bias.
struct NormSpec {
  NormKind kind = NormKind::layer;
  double epsilon = 0;
  double gain_offset = 0;  // the gain is this + the stored value
  std::string tensor;
  bool biased = true;  // for kind `layer`

  bool has_gain() const { return !tensor.empty(); }
  bool has_bias() const { return has_gain() && kind == NormKind::layer && biased; }
  bool operator==(const NormSpec&) const = default;
};

/// One element of a 1-D tensor, by the tensor's full name.
struct ScalarSite {
  std::string tensor;
  std::int64_t index = 0;
};

/// An embedding that is added to a layer's values at each token (daisy): v = `of_value` v +
/// `of_table` row.
struct ValueEmbeddingSpec {
  ScalarSite of_value;
  ScalarSite of_table;
  std::string table;  // full name, (V, D); empty: nothing is added
};

/// A layer's input, if it is not the residual stream x itself (daisy): first x += `skip` times the
/// output of layer `skip_from`, then x = `of_stream` x + `of_embedding` times the embedding.
struct LayerInputSpec {
  std::optional<std::int64_t> skip_from;
  ScalarSite skip;
  ScalarSite of_stream;
  ScalarSite of_embedding;
};

/// The keys that a query attends to.
struct MaskSpec {
  bool causal = true;  // no query attends to a later key
  std::optional<std::int64_t>
      reach;  // keys before the query, and after it if not causal; none: all
  std::optional<std::int64_t> chunk;  // tokens; only keys in the query's own chunk are visible;
                                      // none: no chunks
};

/// The query at position t is multiplied by 1 + growth ln(1 + floor(t / period)).
struct TemperatureSpec {
  double growth = 0;
  std::int64_t period = 1;  // tokens
  std::int64_t first = 0;   // t of the first token
};

/// DisentangledRule, resolved.
struct DisentangledSpec {
  bool content_to_position = false, position_to_content = false;  // at least one of them is set
  std::string table;                                              // (2 span or more, D)
  std::optional<NormSpec> norm;
  std::int64_t span = 0;     // the query's own position is row span; a key n positions before it is
                             // row span + n
  std::int64_t buckets = 0;  // 0: one row per distance; otherwise rows beyond half of the buckets
                             // are logarithmic
  std::int64_t distant = 0;  // tokens, in the outermost bucket
  bool shared = false;       // W_Q and W_K project the distances, too
  std::string query, key;    // otherwise the weights of the distances

  bool operator==(const DisentangledSpec&) const = default;
};

/// RelativeWaveRule, resolved.
struct RelativeWaveSpec {
  std::string projection, content_bias, position_bias;
  std::optional<std::int64_t> clamp;  // tokens
};

/// GridMlpRule, resolved.
struct GridMlp {
  std::string mlp;
  std::int64_t farthest = 1;  // m

  bool operator==(const GridMlp&) const = default;
};

/// PatchWindowRule, resolved for one layer.
struct PatchWindowSpec {
  std::int64_t size = 1, shift = 0;  // patches: W, and how much later windows start
  double wrapped = 0;                // see PatchWindowRule

  bool operator==(const PatchWindowSpec&) const = default;
};

/// PatchMergingRule of the last layer of a stage.
struct PatchMergingSpec {
  std::string projection;  // a pattern, (D of the next stage, 4 D)
  NormSpec norm;
  bool norm_last = false;
};

/// The norms of the MLA latents.
struct MlaSpec {
  std::optional<NormSpec> query_norm;  // none: queries have no latent
  NormSpec norm;                       // of the KV latent
};

/// IndexerRule, resolved for one layer.
struct IndexerSpec {
  bool shared = false;    // reuses the keys that the previous indexer selected
  std::int64_t kept = 0;  // number of selected keys per query
  std::int64_t heads = 0, head_dim = 0;
  RotaryPairs pairs = RotaryPairs::halves;
  std::string query, key, weights;
  NormSpec key_norm;
};

struct AttentionSpec {
  std::optional<NormSpec> query_norm, key_norm, value_norm;
  HeadNormAxis norm_axis = HeadNormAxis::head;  // for queries and keys
  bool norms_after_rotation = false;            // for queries and keys
  std::optional<double> clip;                   // of queries, keys and values, after their norms
  std::optional<Rope> rope;                     // none: no rotary position embeddings
  std::optional<double> patch_rotation;         // see PatchSpec; none: patches are not rotated
  double scale = 1;                             // factor of q k
  std::optional<double> soft_cap;               // c tanh(score / c), before the mask
  MaskSpec mask;
  std::optional<TemperatureSpec> temperature;
  std::optional<ValueEmbeddingSpec> value_embedding;
  std::optional<MlaSpec> mla;
  std::optional<PatchWindowSpec> windows;  // none: patches of the whole image are visible
  std::string cosine_scales;   // see ScoreRule; empty: queries and keys keep their lengths
  std::optional<Alibi> alibi;  // at most one of these changes scores
  std::optional<BucketBias> buckets;
  std::optional<DisentangledSpec> disentangled;
  std::optional<GridBias> grid;
  std::optional<RelativeWaveSpec> relative;
  std::optional<DistanceBias> distances;
  std::optional<GridMlp> grid_mlp;
  std::optional<AxisBiases> axes;
  std::optional<IndexerSpec> indexer;  // none: all keys allowed by the mask are visible
  std::string sinks;                   // scores (H,) of the learned sink, a column without key and
                                       // value; empty: none

  /// Whether a term that depends on the positions of query and key is added to scores.
  bool biased_by_position() const {
    return alibi || buckets || disentangled || grid || relative || distances || grid_mlp || axes;
  }
};

/// ConvolutionRule of the layer that has it.
struct ConvolutionSpec {
  std::int64_t kernel = 1;  // odd; centered on the token
  std::string tensor;       // (D, D, kernel); its bias is stored under the same module
  NormSpec norm;
  Activation activation = Activation::linear;
};

/// PerLayerInputRule of one layer.
struct PerLayerInputSpec {
  std::int64_t width = 0;  // P
  std::string table, projection, gate, up;
  bool covers_all = true;    // false: tokens beyond the table use its row 0
  NormSpec projection_norm;  // norm of the projection's output before it is divided by √D
  NormSpec norm;
};

/// AltUpRule, resolved.
struct AltUpSpec {
  std::int64_t streams = 1, active = 0;
  bool scaled = false;
  std::string place, projection, last_projection;
  NormSpec router_norm;
};

/// LaurelRule, resolved.
struct LaurelSpec {
  std::int64_t rank = 0;
  std::string left, right;
  NormSpec norm;
};

/// SharedBlockRule of a layer that uses a block.
struct SharedBlockSpec {
  std::string projection;
  NormSpec mixer_norm;
  std::int64_t adapter_rank = 0;
  std::string query_adapter, key_adapter, value_adapter;  // empty: the attention has no adapters
  std::string mlp_adapter;
};

/// ConformerRule, resolved.
struct ConformerSpec {
  ConformerRule rule;
  std::int64_t kernel = 1;
  NormSpec first_norm, norm, inner_norm;
};

/// One layer. x is the residual stream, and an absent norm is the identity.
///   sequential: x = attention_sum(x + attention_output(attention(attention_input(x))))
///               x = mlp_sum(x + mlp_output(mlp(mlp_input(x))))
///   parallel:   x = x + attention(attention_input(x)) + mlp(mlp_input(x))
/// In the parallel form, an MLP without its own norm reads attention_input(x).
struct LayerSpec {
  std::optional<NormSpec> attention_input, attention_output, attention_sum;
  std::optional<NormSpec> mlp_input, mlp_output, mlp_sum;
  std::optional<NormSpec> attention_heads, mlp_hidden;  // of the inputs of W_O and of W_down
  /// Inputs of the layer's matrices are rounded to 8 bits per token, as in BitNet.
  bool rounds_inputs = false;
  bool parallel = false;
  double branch_factor = 1;                     // factor of the attention and MLP outputs
  std::string attention_factors, mlp_factors;   // factors of the attention and MLP outputs:
                                                // patterns, (D,); empty: none
  double attention_factor = 1, mlp_factor = 1;  // more factors of these outputs
  double attention_stream_factor = 1;           // of the residual stream, before the output of
  double mlp_stream_factor = 1;                 // attention or mixer, or of the MLP, is added
  double attention_input_factor = 1;            // of the normalized input
  double gate_factor = 1;                       // of the MLP's gate before its activation
  bool norms_replace_stream = false;            // attention and MLP outputs are added to their
                                                // normalized inputs
  AttentionSpec attention;
  std::optional<MixerSpec> mixer;              // instead of attention, or next to it; reads the
                                               // attention's input
  std::optional<SharedBlockSpec> block;        // attention and MLP feed the mixer, see
                                               // SharedBlockRule
  Activation activation = Activation::linear;  // of the MLP, which is gated if there is a `gate`
  std::vector<Role> biased;                    // projections that must have a bias
  std::optional<ExpertSpec> experts;           // none: the MLP is dense
  std::optional<LayerInputSpec> input;
  std::optional<ConvolutionSpec> convolution;  // convolution of the embedding, added after
                                               // everything else
  std::optional<PerLayerInputSpec> own_input;  // applied after the MLP
  std::optional<LaurelSpec> laurel;            // applied after the attention
  std::optional<ConformerSpec> conformer;      // applied before and after the attention
  std::optional<PatchMergingSpec> merging;     // applied after everything else
  /// The gates g of a token become max(0, g − mean − this · standard deviation) before the
  /// activation; none: they do not change.
  std::optional<double> gate_cutoff;
  std::string output_factor;  // pattern, (1,): factor of the layer output; empty or missing: 1

  /// Returns the norm that gives the layer output; none if the output is an unnormalized sum.
  std::optional<NormSpec> output_norm() const {
    return convolution ? std::optional(convolution->norm) : mlp_sum;
  }
};

/// PatchRule, resolved. For row k of n rows, let p = 2 (k + 0.5) / n - 1. The first d / 4 pairs of
/// a head's d dimensions are rotated by 2π p base^(-4 m / d), m = 0, 1, …. The other pairs are
/// rotated by column in the same way. Sequence rows that are not patches are not rotated. Source:
/// transformers, modeling_dinov3_vit.py.
struct PatchSpec {
  PatchRule rule;
  std::int64_t image_rows = 0, image_cols = 0;  // pixels
  std::int64_t size = 0, channels = 0;          // pixels; color channels
  std::int64_t registers = 0;
};

enum class AudioNorm {
  none,
  channels,  // each channel over all frames
  frames,    // each frame over all channels
  all,       // all channels and frames together, after the activation
};

/// One convolution of AudioRule.
struct AudioConvolution {
  std::string name;  // under the prefix
  std::int64_t outputs = 0, kernel = 1, stride = 1, padding = 0;
  AudioNorm norm = AudioNorm::none;
  std::string norm_name = {};
  Activation activation = Activation::gelu;
};
struct AudioPositionConvolution {
  std::string name;
  std::int64_t kernel = 1, groups = 1;
};
struct AudioSpec {
  bool of_waves = true, frames_first = false;
  std::int64_t features = 1;
  std::vector<AudioConvolution> convolutions;
  std::optional<NormSpec> projection_norm;
  std::string projection;
  std::optional<AudioPositionConvolution> position_convolution;
  Activation activation = Activation::gelu;  // of the position convolution
};

/// The residual stream before layer 0 and after the last layer.
struct StreamSpec {
  EmbeddingRule embedding;
  std::optional<NormSpec> embedding_norm;
  std::int64_t embedding_width = 0;     // E
  bool has_projection = false;          // E → D, and D → E at the end if the architecture has that
                                        // projection
  std::optional<std::int64_t> longest;  // tokens, see LongestRule; none: no limit
  std::int64_t padding_token = 0;       // used if positions are counted from it
  double embedding_factor = 1;          // factor of the token embeddings
  std::optional<std::int64_t> dropped_token;  // see EmbeddingRule::drops_masked
  std::optional<NormSpec> last_norm;
  bool shows_last_normed = true;     // false: the last hidden state is taken before the final norm
  std::optional<AltUpSpec> altup;    // set: layers have several streams; x is the active one
  std::optional<PatchSpec> patches;  // set: the model reads images
  std::optional<AudioSpec> audio;    // set: the model reads audio. Neither is set: it reads tokens
};

/// A head that a classifier may have.
struct LabelHeadChoice {
  LabelHeadRule rule;
  std::optional<NormSpec> norm;  // its tensor is a full name
  Activation activation = Activation::linear;
};

/// The head of a classifier, if the class in config.json has one.
struct LabelHeadSpec {
  LabelTask task = LabelTask::sequence;
  std::vector<LabelHeadChoice> heads;         // the first whose weight a file contains
  std::vector<std::string> names;             // `id2label`, by id; empty: LABEL_0, LABEL_1, …
  std::string problem_type;                   // of config.json; empty: not specified
  std::optional<std::int64_t> padding_token;  // for LabelPooling::last
};

struct HeadSpec {
  HeadRule rule;
  std::optional<std::int64_t> end_token;  // for Pooling::end_token
  std::int64_t width = 0;                 // inputs of the weight, if there is a `dense`
  std::optional<NormSpec> norm;           // norm of the head's input; its tensor is a full name
  Activation activation = Activation::linear;
  std::optional<double> soft_cap;
  double factor = 1;  // factor of the logits
};

}  // namespace attnscope
