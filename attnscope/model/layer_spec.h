// The forward pass of a model, as data, resolved from config.json and the description of its
// architecture. `info`, folding, rotation and the forward pass all read it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/base/activation.h"
#include "attnscope/model/architecture.h"
#include "attnscope/model/expert_and_mixer_rules.h"
#include "attnscope/model/rope.h"

namespace attnscope {

// A mixture of experts as a layer has it, resolved from config.json.

/// See MoeRule. How many experts there are, and how wide, is in Dimensions.
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
  std::string shared_weight;   // pattern under the prefix; empty: shared experts count in full
  std::string expert_factors;  // likewise; empty: all are 1
  std::optional<ExpertNorms> norms;
};

// What each layer has for its tokens to see each other, resolved from config.json.

struct LayerMixer {
  bool attends = true;
  std::string name;  // what stands in place of attention, or beside it; empty: nothing
  AfterMixer after = AfterMixer::usual;
  std::int64_t weights_of = 0;  // the layer whose attention weights it has
};

/// Of a whole model. Numbers are float32, of each layer that does not attend.
struct MixerSizes {
  std::vector<LayerMixer> layers;  // as many as the model has
  std::int64_t state = 0;          // numbers that a text leaves behind
  std::int64_t row = 0;            // numbers of each token while the layer runs
};

/// DeltaNetRule, resolved.
struct DeltaNetSpec {
  std::int64_t key_heads = 0, value_heads = 0;  // the latter a multiple of the former
  std::int64_t key_dim = 0, value_dim = 0;      // of one head
  std::int64_t kernel = 1;
  std::string place;
  bool by_head = false;
  bool rates_stored = false;
  double epsilon = 0;                          // of the norm of what heads give
  Activation activation = Activation::linear;  // of what is convolved

  std::int64_t keys() const { return key_heads * key_dim; }
  std::int64_t values() const { return value_heads * value_dim; }
  std::int64_t convolved() const { return 2 * keys() + values(); }
  std::int64_t projected() const { return convolved() + values() + 2 * value_heads; }
};

/// ShortConvolutionRule, resolved.
struct ShortConvolutionSpec {
  std::int64_t kernel = 1;
  std::string place;
  bool biased = false;
};

/// What the forward pass computes in place of a layer's attention; one of these.
struct MixerSpec {
  std::optional<DeltaNetSpec> delta_net;
  std::optional<ShortConvolutionSpec> short_convolution;
};

/// A norm over the last axis. `tensor` is a pattern under the prefix, without `.weight` and
/// `.bias`. Empty: the norm has neither gain nor bias.
struct NormSpec {
  NormKind kind = NormKind::layer;
  double epsilon = 0;
  double gain_offset = 0;  // the gain is this + the stored value
  std::string tensor;
  bool biased = true;  // if of kind `layer`

  bool has_gain() const { return !tensor.empty(); }
  bool has_bias() const { return has_gain() && kind == NormKind::layer && biased; }
  bool operator==(const NormSpec&) const = default;
};

/// One number of a tensor of one dimension, by its full name.
struct ScalarSite {
  std::string tensor;
  std::int64_t index = 0;
};

/// An embedding that is added to a layer's values of each token (daisy): v = `of_value` v +
/// `of_table` row.
struct ValueEmbeddingSpec {
  ScalarSite of_value;
  ScalarSite of_table;
  std::string table;  // full name, (V, D); empty: nothing is added
};

/// A layer's input, if it is not the stream x itself (daisy): first x += `skip` times the output of
/// layer `skip_from`, then x = `of_stream` x + `of_embedding` times the embedding.
struct LayerInputSpec {
  std::optional<std::int64_t> skip_from;
  ScalarSite skip;
  ScalarSite of_stream;
  ScalarSite of_embedding;
};

/// Which keys a query sees.
struct MaskSpec {
  bool causal = true;  // no query sees a later key
  std::optional<std::int64_t>
      reach;  // keys before the query, and after it if not causal; none: all
  std::optional<std::int64_t> chunk;  // tokens; only keys of the query's own are seen; none: all
};

/// The query at position t is multiplied by 1 + growth ln(1 + floor(t / period)).
struct TemperatureSpec {
  double growth = 0;
  std::int64_t period = 1;  // tokens
  std::int64_t first = 0;   // t of the first token
};

/// DisentangledRule, resolved.
struct DisentangledSpec {
  bool content_to_position = false, position_to_content = false;  // at least one of them
  std::string table;                                              // (2 span or more, D)
  std::optional<NormSpec> norm;
  std::int64_t span = 0;     // row span is that of the query itself, span + n of keys n before it
  std::int64_t buckets = 0;  // 0: rows are distances; else beyond half of them they are logarithms
  std::int64_t distant = 0;  // tokens, in the outermost bucket
  bool shared = false;       // queries and keys of distances are made as those of tokens
  std::string query, key;    // else the weights that make them

  bool operator==(const DisentangledSpec&) const = default;
};

/// The norms of the latents of multi-head latent attention.
struct MlaSpec {
  std::optional<NormSpec> query_norm;  // none: queries have no latent
  NormSpec norm;                       // of the latent of keys and values
};

/// IndexerRule, resolved for one layer.
struct IndexerSpec {
  bool shared = false;    // the keys that the last layer with an indexer selected are seen
  std::int64_t kept = 0;  // keys that each query sees
  std::int64_t heads = 0, head_dim = 0;
  RotaryPairs pairs = RotaryPairs::halves;
  std::string query, key, weights;
  NormSpec key_norm;
};

struct AttentionSpec {
  std::optional<NormSpec> query_norm, key_norm, value_norm;
  HeadNormAxis norm_axis = HeadNormAxis::head;  // of queries and keys
  bool norms_after_rotation = false;            // likewise
  std::optional<double> clip;                   // of queries, keys and values, after their norms
  std::optional<Rope> rope;                     // none: positions are not rotary
  std::optional<double> patch_rotation;         // see PatchSpec; none: patches do not turn
  double scale = 1;                             // of q k
  std::optional<double> soft_cap;               // c tanh(score / c), before the mask
  MaskSpec mask;
  std::optional<TemperatureSpec> temperature;
  std::optional<ValueEmbeddingSpec> value_embedding;
  std::optional<MlaSpec> mla;
  std::optional<Alibi> alibi;  // at most one of these four changes scores
  std::optional<BucketBias> buckets;
  std::optional<DisentangledSpec> disentangled;
  std::optional<IndexerSpec> indexer;  // none: all keys are seen that the mask leaves
  std::string sinks;                   // scores (H,) of a column without key and value; empty: none

  /// Whether something is added to scores by the places of query and key.
  bool biased_by_position() const { return alibi || buckets || disentangled; }
};

/// ConvolutionRule, of the layer that has it.
struct ConvolutionSpec {
  std::int64_t kernel = 1;  // odd; the token itself is its middle
  std::string tensor;       // (D, D, kernel); its bias beside it
  NormSpec norm;
  Activation activation = Activation::linear;
};

/// PerLayerInputRule, of one layer.
struct PerLayerInputSpec {
  std::int64_t width = 0;  // P
  std::string table, projection, gate, up;
  NormSpec projection_norm;  // of the projection's output before it is divided by √D
  NormSpec norm;
};

/// One layer. With x the stream, an absent norm the identity:
///   sequential: x = attention_sum(x + attention_output(attention(attention_input(x))))
///               x = mlp_sum(x + mlp_output(mlp(mlp_input(x))))
///   parallel:   x = x + attention(attention_input(x)) + mlp(mlp_input(x))
/// In the parallel form, an MLP without a norm of its own reads attention_input(x).
struct LayerSpec {
  std::optional<NormSpec> attention_input, attention_output, attention_sum;
  std::optional<NormSpec> mlp_input, mlp_output, mlp_sum;
  bool parallel = false;
  double branch_factor = 1;                    // of what attention and MLP add to the stream
  std::string attention_factors, mlp_factors;  // likewise: patterns, (D,); empty: none
  bool norms_replace_stream = false;           // attention and MLP are added to their normed inputs
  AttentionSpec attention;
  std::optional<MixerSpec> mixer;              // in place of the attention; none: the layer attends
  Activation activation = Activation::linear;  // of the MLP, which is gated if there is a `gate`
  std::vector<Role> biased;                    // projections that must have a bias
  std::optional<ExpertSpec> experts;           // none: the MLP is dense
  std::optional<LayerInputSpec> input;
  std::optional<ConvolutionSpec> convolution;  // of the embedding, after all else
  std::optional<PerLayerInputSpec> own_input;  // after the MLP
  std::string output_factor;  // pattern, (1,): of what the layer gives; empty or not there: 1

  /// The last norm of what the layer gives; none where it gives a sum.
  std::optional<NormSpec> output_norm() const {
    return convolution ? std::optional(convolution->norm) : mlp_sum;
  }
};

/// PatchRule, resolved. Where patches turn: with p = 2 (k + 0.5) / n - 1 for the k-th of n rows,
/// the first d / 4 pairs of a head's d dimensions turn by 2π p base^(-4 m / d), m = 0, 1, …; the
/// others likewise by column. Rows of no place do not turn. Source: transformers,
/// modeling_dinov3_vit.py.
struct PatchSpec {
  PatchRule rule;
  std::int64_t image_size = 0, size = 0, channels = 0;  // pixels, pixels, and colours
  std::int64_t registers = 0;
};

enum class AudioNorm { none, channels, frames };

/// One of AudioRule.
struct AudioConvolution {
  std::string name;  // under the prefix
  std::int64_t outputs = 0, kernel = 1, stride = 1, padding = 0;
  AudioNorm norm = AudioNorm::none;
  std::string norm_name = {};
};
struct AudioPositionConvolution {
  std::string name;
  std::int64_t kernel = 1, groups = 1;
};
struct AudioSpec {
  bool of_waves = true;
  std::int64_t features = 1;
  std::vector<AudioConvolution> convolutions;
  std::optional<NormSpec> projection_norm;
  std::string projection;
  std::optional<AudioPositionConvolution> position_convolution;
  Activation activation = Activation::gelu;
};

/// The stream before layer 0, and after the last layer.
struct StreamSpec {
  EmbeddingRule embedding;
  std::optional<NormSpec> embedding_norm;
  std::int64_t embedding_width = 0;  // E
  bool has_projection = false;       // E → D, and D → E at the end if the architecture has one
  std::int64_t padding_token = 0;    // used if positions are counted from it
  double embedding_factor = 1;       // of the tokens' rows
  std::optional<std::int64_t> dropped_token;  // see EmbeddingRule::drops_masked
  std::optional<NormSpec> last_norm;
  bool shows_last_normed = true;     // false: hidden states end before the last norm
  std::optional<PatchSpec> patches;  // images are read
  std::optional<AudioSpec> audio;    // sound is read; neither: tokens are
};

struct HeadSpec {
  HeadRule rule;
  std::optional<std::int64_t> end_token;  // of that pooling
  std::optional<NormSpec> norm;           // of what the weight reads; its tensor is a full name
  Activation activation = Activation::linear;
  std::optional<double> soft_cap;
  double factor = 1;  // of logits
};

}  // namespace attnscope
