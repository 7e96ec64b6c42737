// How descriptions of architectures specify the residual stream: embedding, norms, multipliers, LM
// head, image and audio inputs. The files in families/ fill in these rules; nothing here is
// specific to one model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/model/config_keys.h"

namespace attnscope {

enum class NormKind {
  layer,  // (x - mean) / sqrt(variance + epsilon)
  rms,    // x / sqrt(mean of squares + epsilon)
};

/// The axis of a norm of queries or keys, and the shape of its gain.
enum class HeadNormAxis {
  head,       // each head, all with the same gain (d,)
  each_head,  // each head, with its own gain: (H, d), or one tensor per `{head}`
  all_heads,  // all heads together, before they are split: (H d,)
};

/// The norms of an architecture, all of the same kind. Names are patterns under the prefix, without
/// `.weight` (or `.gamma` in old files) of the gain and `.bias` (or `.beta`). An empty name means
/// that the norm does not exist.
struct NormRule {
  NormKind kind = NormKind::layer;
  ConfigNumber epsilon = {};
  ConfigNumber last_epsilon = {};       // of the final norm; no value: `epsilon` (CTRL)
  ConfigNumber embedding_epsilon = {};  // of the embedding norm; no value: `epsilon` (Swin)
  ConfigNumber gain_offset = {"", 0};   // the gain is this + the stored value; 1 for Gemma
  ConfigFlag affine = {"", true};       // false: norms have neither gain nor bias
  ConfigFlag biased = {"", true};       // false: norms of kind `layer` have only a gain
  std::string attention_input = {};     // of the attention input
  std::string attention_output = {};    // of the attention output, before it is added to the
                                        // residual stream
  std::string attention_sum = {};       // of the residual stream after the addition
  std::string attention_heads = {};     // of all head outputs together, before W_O (BitNet)
  std::string mlp_input = {};
  std::string mlp_hidden = {};  // of the input of W_down (BitNet)
  std::string mlp_output = {};
  std::string mlp_sum = {};
  std::string last = {};  // the final norm, after the last layer
  /// False: post-norm: sums are normalized instead of inputs, and there is no final norm (OPT).
  ConfigFlag first = {"", true};
  /// True: there is no final norm (OPT).
  ConfigFlag without_last = {"", false};
  /// False: the last hidden state is the last layer's output before the final norm (vision models).
  bool shows_last = true;
  std::string query = {}, key = {};          // norms of the queries and keys of each head
  ConfigFlag queries_and_keys = {"", true};  // whether these two norms exist
  HeadNormAxis head_axis = HeadNormAxis::head;
  bool heads_biased = true;             // false: these two norms have only a gain
  bool after_rotation = false;          // queries and keys are rotated before their norms
  bool shared_if_parallel = false;      // in parallel layers, attention and MLP share one norm
  ConfigFlag bare_heads = {"", false};  // queries and keys have norms without gains
  bool bare_values = false;             // values have norms without gains
  bool heads_if_rotated = false;        // norms of queries and keys only in layers with RoPE
  bool bare_stream = false;  // norms without gains for the embedding, and the inputs of MLPs and LM
                             // head
  /// True: layer 0 has no norm of the attention input (ModernBERT).
  bool not_in_first_layer = false;
  /// True: attention and MLP outputs are added to their normalized input, not to the input of the
  /// norm (BLOOM).
  ConfigFlag replaces_stream = {"", false};
};

/// Constant factors of the residual stream.
struct MultiplierRule {
  ConfigNumber embedding = {};
  ConfigNumber branches = {};  // factor of attention and MLP outputs
  bool by_depth = false;       // the factor is divided by the square root of the number of layers
                               // (MiniCPM)
  ConfigNumber logits = {};
  ConfigNumber logits_divisor = {};
  ConfigKey logits_width = {};              // logits are divided by hidden size / this (MiniCPM)
  ConfigFlag logits_by_root = {"", false};  // logits are divided by √D (T5)
  // Factors of the residual stream before attention, mixer or MLP output is added, and of the MLP
  // output (MiniMax):
  ConfigNumber attention_stream = {"", 1}, mixer_stream = {"", 1}, mlp_stream = {"", 1};
  ConfigNumber mlp_output = {"", 1};
  // Falcon-H1:
  ConfigNumber attention_input = {"", 1}, keys = {"", 1}, attention_output = {"", 1};
  std::string gate_and_mlp = {};  // a list: the factor of the gate before its activation, and of
                                  // the MLP output
  /// Patterns under the prefix, (D,): factors of the attention output and the MLP output. They do
  /// not exist if their initial value is 0.
  std::string attention = {}, mlp = {};
  ConfigNumber initial = {"", 1};
  /// A pattern under the prefix, (1,): factor of the layer output, if the files contain it.
  std::string layer_output = {};
};

/// Sinusoidal positions: sin(t rate_k) for all k, then cos(t rate_k), with rate_k = 10000^(-k / n)
/// for k below half of the hidden size. Source: transformers, MarianSinusoidalPositionalEmbedding
/// and M2M100SinusoidalPositionalEmbedding.
struct WaveRule {
  bool to_last = false;  // true: n makes the last rate 1 / 10000; false: n is half of the hidden
                         // size
  bool endless = false;  // positions continue beyond the file's context length
};

/// The residual stream before layer 0. Names are under the prefix.
struct EmbeddingRule {
  std::string tokens = {};     // (V, E)
  std::string positions = {};  // learned, (context length, D)
  ConfigFlag has_positions = {"", true};
  std::optional<WaveRule> waves = {};    // computed positions if the file stores none
  std::int64_t position_offset = 0;      // the row of the first token
  bool positions_after_padding = false;  // rows are counted from pad_token_id (RoBERTa)
  std::string types = {};                // token type embeddings, (types, D); row 0 is added
  ConfigKey type_count = {};             // 0: there are none
  std::vector<std::string> added = {};   // more tables, (rows, D); row 0 of each is added: tasks in
                                         // ERNIE, zero boxes in LayoutLM
  ConfigFlag has_added = {"", true};
  std::vector<std::string> joined = {};  // more tables; row 0 of each. Side by side they have D
                                         // columns, and are added (zero boxes in LayoutLMv3)
  std::string norm = {};                 // norm of the sum; named as in NormRule
  ConfigFlag has_norm = {"", true};
  std::string projection = {};  // E → D: of the norm's output, or of the token embeddings if
                                // projects_tokens
  bool projects_tokens = false;
  bool projects_if_narrow = false;  // no projection if E equals D
  bool norms_projected = false;     // the norm, of size D, is applied to the projection's output
  ConfigKey width = {};             // E; no name, or null: D
  /// True: `masked_token` is embedded as zeros. All other embeddings are multiplied by 0.88 and
  /// divided by the share of unmasked tokens in the text (ESM).
  ConfigFlag drops_masked = {"", false};
  ConfigKey masked_token = {};
  ConfigFlag times_sqrt_width = {"", false};
  bool rounds_root = false;  // the √D of times_sqrt_width is rounded to bfloat16 (RecurrentGemma)
  std::string last_projection = {};  // D → E, after the final norm
};

/// Which of the last hidden states a head reads, if it does not read every position.
enum class Pooling {
  none,               // every position
  first,              // row 0
  first_two,          // rows 0 and 1, each with its own weight; the results are averaged
  first_and_mean,     // row 0, concatenated with the mean of all others
  first_and_patches,  // row 0, concatenated with the mean of patches
  patches,            // the mean of patches, then `norm`
  attention,          // attention of one learned query over all rows
  last,               // the last row
  end_token,          // the row of the first end-of-text token
};

/// From the last hidden state to logits. Names are full tensor names.
struct HeadRule {
  std::string none = {};  // why there is no head, whatever the files contain; empty: there may be
                          // one
  Pooling pooling = Pooling::none;
  std::string second = {};     // the weight of row 1
  std::string attention = {};  // names before those of Pooling::attention, under the prefix
  ConfigKey end_token = {};
  std::string score_scale = {}, score_bias = {};  // for texts and images: logarithm of the logit
                                                  // scale, and the logit bias
  std::vector<std::string> weight = {};           // (V, E); the first one that a file contains
  bool needed = false;                            // false: files without a head are valid
  std::vector<std::string> bias = {};             // the first one that a file contains
  bool needs_bias = false;
  ConfigKey width = {};               // outputs of `dense`; no name: the width E of the embedding
  std::string dense = {}, norm = {};  // before the weight, in masked-language models. The norm is
                                      // also that of Pooling::patches
  /// Alternative names, used if a file has no `dense`.
  std::string other_dense = {}, other_norm = {};
  std::string activation_key = {};  // key in config.json: activation after `dense`
  std::string activation = {};      // if the file has none; empty: the MLP's activation
  ConfigNumber soft_cap = {};
};

/// What a classifier labels.
enum class LabelTask {
  sequence,  // the whole text: ForSequenceClassification
  token,     // each token: ForTokenClassification
  span,      // first and last token of an answer: ForQuestionAnswering
};

/// The row that the head of a sequence classifier reads.
enum class LabelPooling {
  first,  // row 0
  last,   // the row of the last token that is not padding
  mean,   // the mean of all rows
};

/// The head of a classifier: activation(dense x + bias), then a norm, then the weight. Names are
/// full tensor names; empty: no such step. Biases are read if the file contains them.
struct LabelHeadRule {
  LabelTask task = LabelTask::sequence;
  std::string weight;  // (labels, D)
  LabelPooling pooling = LabelPooling::first;
  std::string pooling_key = {};  // "cls" or "mean" in config.json
  std::string dense = {}, norm = {};
  bool dense_under_prefix = false;  // the pooler of the body, instead of a full name
  std::string activation = {};      // after `dense`
  std::string activation_key = {};  // key in config.json, if the file names one
};

/// Layer 0 outputs norm(x + activation(convolution of the embedding along the text)), where x is
/// its usual output (DeBERTa). Names are under the prefix.
struct ConvolutionRule {
  ConfigKey kernel;    // tokens; 0: no convolution
  ConfigKey groups;    // only 1 is supported
  std::string tensor;  // (D, D, kernel)
  std::string norm;
  std::string activation_key, activation;
};

/// Additional tensors of daisy's layers, next to attention and MLP. Full names.
struct DaisyRule {
  std::string scalars;       // factors of skips, of the residual stream and embedding, and of
                             // values
  std::string value_tables;  // pattern; `*` stands for 0, 1, 2
};

// The inputs of vision and audio models, as data. Names are under the prefix.

/// How positions are computed for image sizes other than that in config.json.
enum class OtherSizes {
  refused,
  cubic,         // interpolates the learned ones: torch's interpolate(mode="bicubic")
  wide_cubic,    // the same, with antialias=True
  wide_linear,   // interpolate(mode="bilinear", antialias=True)
  as_they_come,  // no learned positions
};

/// An image is cut into square patches, row by row. Each patch becomes a row of the residual
/// stream. A remainder at the right or bottom edge is ignored.
struct PatchRule {
  ConfigKey image_size = {"image_size", 224};  // pixels, for both sides; or a list: rows, columns
  ConfigKey patch_size = {"patch_size", 16};
  ConfigKey patch_count = {};  // the number of patches, a square, instead of the image size
  ConfigKey channels = {"num_channels", 3};
  std::string projection;                // (D, channels, p, p); has a bias if the file contains one
  bool channels_last = false;            // the projection is (D, p p channels) instead
  std::vector<std::string> tokens = {};  // rows before the patches, such as the class token
  std::string registers = {};            // (1, R, D): rows after these, without positions
  ConfigKey register_count = {};         // R; 0: none
  std::string positions = {};            // for class token and patches, (1, n, D) or (n, D); empty:
                                         // none
  ConfigFlag has_positions = {"", true};
  bool positions_after_norm = false;  // positions are added to the normalized embedding (Swin)
  OtherSizes other_sizes = OtherSizes::refused;
  /// Queries and keys of patches are rotated by row and column. This is the base of the angles; see
  /// PatchSpec.
  ConfigNumber rotation = {};
};

/// A list in config.json, and the default if the file has none.
struct ConfigList {
  std::string name;  // empty: always the default
  std::vector<std::int64_t> fallback = {};
};

/// Audio becomes rows of the residual stream by convolutions along time, each with an activation.
struct AudioRule {
  bool of_waves = true;  // raw samples, one at a time; false: spectrograms with `features` values
                         // per frame
  ConfigKey features = {};                       // number of features
  bool frames_first = false;                     // spectrograms are (frames, features)
  ConfigList widths, kernels, strides;           // sizes of the convolutions
  std::vector<std::int64_t> width_factors = {};  // without `widths`: multiples of D; empty: 1
  std::int64_t padding = 0;                      // zeros before and after
  std::string place;                 // name of the n-th convolution: `{number}`, with its weight
                                     // and bias
  std::int64_t first_number = 0;     // the first `{number}`
  std::string norm = {};             // the norm after it, by this name
  std::string norm_key = {};         // "group": only the first, per channel; "layer": all
  std::string norm_of_first = {};    // instead: the norm of the first convolution's activations,
                                     // over all channels and frames
  std::string projection_norm = {};  // norm of the last convolution's output
  ConfigFlag has_projection_norm = {"", true};
  std::string projection = {};  // to D; empty: the last convolution outputs D
  /// A wide grouped convolution whose output is added as a positional encoding.
  std::string position_convolution = {};
  ConfigKey position_convolution_kernel = {}, position_convolution_groups = {};
  std::vector<ConfigFlag> unsupported = {};  // flags that must not be true
  std::string activation_key = {}, activation = "gelu";
  std::string first_activation = {};  // after the first convolution; empty: `activation`
};

/// Conformer: a layer adds an MLP before its attention, and a convolution module between its
/// attention and its second MLP. Both MLP outputs are multiplied by `mlp_factor`. The module
/// computes project(activation(inner_norm(taps * glu(expand(norm(x)))))), where the convolution `*`
/// mixes the last `kernel` rows of each channel. Norms are named as in NormRule, all tensors by
/// patterns under the prefix. Source: arXiv 2005.08100; transformers, modeling_wav2vec2_bert.py.
struct ConformerRule {
  std::string first_norm, first_up, first_down;
  double mlp_factor = 0.5;
  std::string norm, inner_norm;
  std::string expand;   // (2 D, D, 1)
  std::string taps;     // (D, 1, kernel)
  std::string project;  // (D, D, 1)
  ConfigKey kernel;     // rows
};

// Inputs that every layer of Gemma 4 gets for each token, in addition to the residual stream.

/// Every layer has a vector p of P values per token. After its MLP, the residual stream x becomes x
/// + norm(up (activation(gate x) * p)). Here, p = (projection_norm(projection x0 / √D) + √P · table
/// row of the token) / √2, and x0 is the embedding. The outputs of `projection` and the columns of
/// `table` are ordered by layer. Names are under the prefix.
struct PerLayerInputRule {
  ConfigKey width = {};         // P; 0 or no value: no layer inputs
  std::string table;            // (V, L P)
  std::string projection;       // (L P, D)
  std::string projection_norm;  // norm of size P
  std::string gate, up;         // patterns: (P, D), (D, P)
  std::string norm;             // pattern, norm of size D
  bool covers_all = true;       // false: tokens beyond the table use its row 0 (Gemma 3n)
};

/// AltUp: A residual streams, of which each layer computes one, the active one. A layer first
/// predicts all streams: P_k = X_k + Σ_j c_kj X_j, where c is linear in m = tanh(router(norm(X_a) /
/// D)). Attention and MLP then turn P_a into y, and the streams become P_k + (1 + c_k) (y − P_a),
/// where c is linear in the m of y. The per-layer input reads the active stream and is added to all
/// streams but the first. The streams start as projections of the embedding with its root mean
/// square. After the last layer, the stream is the mean of their projections, with the root mean
/// square of the first. Names are under the prefix; `*` counts the streams after the first from 0.
/// Source: arXiv 2301.13310; transformers, modeling_gemma3n.py.
struct AltUpRule {
  ConfigKey streams, active;  // A; the number of the active stream
  ConfigFlag scaled;          // whether the per-layer input reads the active stream times a factor
  std::string place;          // pattern of the tensors of a layer, up to ".router_norm"
  std::string projection, last_projection;  // (D, D)
};

/// LAuReL: after the attention, the stream x becomes (x + u + norm(right left u)) / √2, where u is
/// the input of the attention. Patterns under the prefix. Source: arXiv 2411.07501.
struct LaurelRule {
  ConfigKey rank;
  std::string left, right;  // (rank, D), (D, rank)
  std::string norm;
};

}  // namespace attnscope
