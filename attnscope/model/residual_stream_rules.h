// What an architecture can say of its residual stream: embedding, norms, multipliers, output head,
// image and audio inputs. The file of a family in families/ fills it in; nothing here is of one
// model.
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
  /// False: hidden states end with what the last layer gives, before that norm (images).
  bool shows_last = true;
  std::string query = {}, key = {};          // of each head
  ConfigFlag queries_and_keys = {"", true};  // whether those two exist
  HeadNormAxis head_axis = HeadNormAxis::head;
  bool heads_biased = true;             // false: those two have a gain only
  bool after_rotation = false;          // queries and keys are rotated before their norms
  bool shared_if_parallel = false;      // of parallel layers, attention and MLP read one norm
  ConfigFlag bare_heads = {"", false};  // norms without gains for queries and keys
  bool bare_values = false;             // likewise for values
  bool heads_if_rotated = false;        // norms of queries and keys only in layers that rotate
  bool bare_stream = false;  // likewise for the embedding and the inputs of MLPs and head
  /// True: layer 0 has no norm of its attention's input (ModernBERT).
  bool not_in_first_layer = false;
  /// True: attention and MLP are added to their normed input, not to what the norm read (BLOOM).
  ConfigFlag replaces_stream = {"", false};
};

/// Constant factors on the way of the stream.
struct MultiplierRule {
  ConfigNumber embedding = {};
  ConfigNumber branches = {};  // of what attention and MLP add to the stream
  bool by_depth = false;       // that number is divided by the square root of the layers (MiniCPM)
  ConfigNumber logits = {};
  ConfigNumber logits_divisor = {};
  ConfigKey logits_width = {};              // logits are divided by width / this (MiniCPM)
  ConfigFlag logits_by_root = {"", false};  // logits are divided by √width (T5)
  /// Patterns under the prefix, (D,): factors of what attention, and the MLP, add to the stream.
  std::string attention = {}, mlp = {};
  /// A pattern under the prefix, (1,): factor of all that a layer gives, where files hold it.
  std::string layer_output = {};
};

/// Positions that are computed: sin(t rate_k) of all k, then cos(t rate_k), rate_k = 10000^(-k / n)
/// for k below half of the width. Source: transformers, MarianSinusoidalPositionalEmbedding and
/// M2M100SinusoidalPositionalEmbedding.
struct WaveRule {
  bool to_last = false;  // n is such that the last rate is 1 / 10000; else half of the width
  bool endless = false;  // they go on where the file's context is over
};

/// The stream before layer 0. Names are under the prefix.
struct EmbeddingRule {
  std::string tokens = {};     // (V, E)
  std::string positions = {};  // learned, (context, D)
  ConfigFlag has_positions = {"", true};
  std::optional<WaveRule> waves = {};    // positions of files that hold none
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
  ConfigFlag times_sqrt_width = {"", false};
  std::string last_projection = {};  // D → E, after the last norm
};

/// What a head reads of a sequence's last states, where it does not read each of them.
enum class Pooling {
  none,               // it reads each
  first,              // row 0
  first_two,          // rows 0 and 1, each with a weight of its own; of both the mean is taken
  first_and_mean,     // row 0 and, beside it, the mean of all others
  first_and_patches,  // row 0 and, beside it, the mean of patches
  attention,          // what one learned query sees in them
  last,               // the last row
  end_token,          // the row of the first end of text
};

/// From the last hidden state to logits. Full names.
struct HeadRule {
  std::string none = {};  // why there is no head, whatever the files hold; empty: there may be one
  Pooling pooling = Pooling::none;
  std::string second = {};     // the weight of row 1
  std::string attention = {};  // what the tensors of that pooling's names begin with
  ConfigKey end_token = {};
  std::string score_scale = {}, score_bias = {};  // of texts and images: ln of a factor, and a term
  std::vector<std::string> weight = {};           // (V, E); the first that a file holds
  bool needed = false;                            // false: files without a head are valid
  std::vector<std::string> bias = {};             // likewise
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

// What enters the layers of models that read images or sound, as data. Names are under the prefix.

/// How images of other sizes than that of config.json get positions.
enum class OtherSizes {
  refused,
  cubic,         // between the learned ones: torch's interpolate(mode="bicubic")
  wide_cubic,    // likewise, with antialias=True
  as_they_come,  // no positions are learned
};

/// An image is cut into square patches, row by row; each becomes a row of the stream. What is left
/// at the right and at the bottom is not seen.
struct PatchRule {
  ConfigKey image_size = {"image_size", 224};  // pixels, of both sides
  ConfigKey patch_size = {"patch_size", 16};
  ConfigKey channels = {"num_channels", 3};
  std::string projection;                // (D, channels, p, p); its bias if the file has one
  std::vector<std::string> tokens = {};  // rows before those of patches, such as the class token's
  std::string registers = {};            // (1, R, D): rows after these, without positions
  ConfigKey register_count = {};         // R; 0: none
  std::string positions = {};            // of tokens and patches, (1, n, D) or (n, D); empty: none
  OtherSizes other_sizes = OtherSizes::refused;
  /// Queries and keys of patches turn by row and column; this is the base of the angles. See
  /// PatchSpec.
  ConfigNumber rotation = {};
};

/// A list of config.json, and what is taken where the file has none.
struct ConfigList {
  std::string name;  // empty: always the fallback
  std::vector<std::int64_t> fallback = {};
};

/// Sound becomes rows of the stream by convolutions along time, each with an activation.
struct AudioRule {
  bool of_waves = true;     // one number at a time; else spectrograms of so many features
  ConfigKey features = {};  // of these
  ConfigList widths, kernels, strides;  // of the convolutions
  std::int64_t padding = 0;             // zeros before and after
  std::string place;                    // of the n-th one: `{number}`, and its weight and bias
  std::int64_t first_number = 0;        // of `{number}`
  std::string norm = {};                // after it, named so
  std::string norm_key = {};            // "group": of the first, by channel; "layer": of all
  std::string projection_norm = {};     // of what the last one gives
  ConfigFlag has_projection_norm = {"", true};
  std::string projection = {};  // to D; empty: the last one gives D
  /// A wide convolution in groups, whose output is added: places are told apart by it.
  std::string position_convolution = {};
  ConfigKey position_convolution_kernel = {}, position_convolution_groups = {};
  ConfigFlag position_convolution_batch_norm = {"", false};  // which is not known
  std::string activation_key = {}, activation = "gelu";
};

// What Gemma 4 gives every layer of each token beside the stream, as data.

/// Every layer has a vector p of P numbers for each token. After its MLP the stream x becomes
/// x + norm(up (activation(gate x) * p)), where p = (projection_norm(projection x0 / √D) +
/// √P · table row of the token) / √2 and x0 is the embedding. The outputs of `projection` and the
/// columns of `table` are those of layer 0, of layer 1, … Names are under the prefix.
struct PerLayerInputRule {
  ConfigKey width = {};         // P; 0 or no value: layers have none
  std::string table;            // (V, L P)
  std::string projection;       // (L P, D)
  std::string projection_norm;  // of P
  std::string gate, up;         // patterns: (P, D), (D, P)
  std::string norm;             // pattern, of D
};

}  // namespace attnscope
