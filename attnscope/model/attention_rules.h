// How descriptions of architectures specify attention: score biases, soft cap, windows, RoPE, MLA.
// The files in families/ fill in these rules; nothing here is specific to one model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/model/config_keys.h"

namespace attnscope {

// Terms that are added to attention scores depending on the positions of query and key.

/// ALiBi: adds slope · (key − query), with one slope per head. Source: arXiv 2108.12409.
struct Alibi {
  /// The slopes if the number of heads H is not a power of two. False: the slopes of the next
  /// smaller power, then every second slope of twice that number (BLOOM, Falcon). True: from the
  /// slopes of the next larger power, the 2nd, 4th, …, then the 1st, 3rd, …, until H are taken
  /// (MPT).
  bool of_larger_power = false;
  /// slope · key is rounded to bfloat16 and scaled like q k (Falcon).
  bool in_bfloat16 = false;

  bool operator==(const Alibi&) const = default;
};

/// The factor of a BucketBias for each query and head: 2 + a (b c - 1). a and b are the sigmoids of
/// sums of four outputs each of a linear layer, which reads the head's dimensions of the attention
/// input. Source: WavLM, arXiv 2110.13900; transformers, modeling_wavlm.py.
struct BucketGate {
  std::string linear;   // a pattern under the prefix, (8, d): four rows for a, then four for b
  std::string factors;  // a pattern under the prefix: c of each head, (1, H, 1, 1)

  bool operator==(const BucketGate&) const = default;
};

/// A learned bias per head and distance bucket. Small distances have one bucket each; the widths of
/// larger buckets grow in proportion to the distance. With bidirectional attention, half of the
/// buckets are for keys after the query. Source: T5, arXiv 1910.10683.
struct BucketBias {
  std::string table;           // a pattern under the prefix, (count, H)
  std::int64_t count = 32;     // number of buckets
  std::int64_t distant = 128;  // tokens; larger distances are in the last bucket
  bool by_head = false;        // the table is (H, count)
  bool scaled = false;         // the bias is scaled like q k
  std::optional<BucketGate> gate = {};

  bool operator==(const BucketBias&) const = default;
};

/// A bias q · e for each query q, where the embedding e depends on the distance to the key. Larger
/// distances have the first or last embedding. It is scaled like q k. Source: arXiv 1803.02155;
/// transformers, modeling_wav2vec2_bert.py ("relative_key").
struct DistanceBias {
  std::string table;                   // a pattern under the prefix, (before + 1 + after, d)
  std::int64_t before = 0, after = 0;  // tokens before and after the query

  bool operator==(const DistanceBias&) const = default;
};

/// A learned bias per head and offset between two patches of an image, in rows and columns. With
/// attention in windows, the patches are those of a window. Source: BEiT, arXiv 2106.08254.
struct GridBias {
  /// A pattern under the prefix, ((2 n - 1)², H) for n x n patches: offsets row by row. With a
  /// class token, the one row before the patches, three more biases follow: from it, to it, and
  /// from it to itself.
  std::string table;
  bool class_token = true;

  bool operator==(const GridBias&) const = default;
};

/// The biases of GridBias as 16 sigmoid(MLP(x, y)), with one hidden layer and ReLU. An offset of o
/// patches becomes x = sign(o) log2(1 + 8 |o| / m) / 3, where m is 1 less than the size of a
/// window, or of a window in pretraining. Source: Swin v2, arXiv 2111.09883; transformers,
/// modeling_swinv2.py.
struct GridMlpRule {
  std::string mlp;                      // a pattern, before `.0` and `.2`: (F, 2) and (H, F)
  std::string pretrained_windows = {};  // key of a list: sizes per stage; 0: that of this model
};

/// Learned biases of the offset in rows and of the offset in columns, each the product of the
/// unscaled query with an embedding: q · r + q · c. Source: SAM; MViTv2, arXiv 2112.01526.
struct AxisBiases {
  std::string rows, columns;  // patterns under the prefix, (2 n - 1, d) for n patches

  bool operator==(const AxisBiases&) const = default;
};

/// Attention within square windows of an image's patches. Padding completes the last windows: its
/// queries, keys and values are the biases of their projections. Source: Swin, arXiv 2103.14030.
struct PatchWindowRule {
  ConfigKey size;  // W, patches per side
  /// In every second layer of a stage, windows start W / 2 patches later. They wrap around, so
  /// that a window contains patches from both ends of the image. This term is added to the scores
  /// of such pairs. None: windows never start later.
  std::optional<double> wrapped = {};
  bool shrinks = false;  // a window is not larger than its stage; otherwise that is an error
  std::string full_layers = {};  // key of a list of layers without windows
  std::vector<std::int64_t> full_by_default = {};
};

/// Scales queries with their position t: q (1 + `growth` ln(1 + floor(t / `period`))).
struct TemperatureRule {
  ConfigNumber growth = {};  // no value: queries are not scaled
  ConfigKey period = {};     // tokens
  bool in_rope = true;       // both are keys of rope_parameters (Ministral 3)
  ConfigFlag enabled = {"", true};
  std::int64_t first = 0;       // t of the first token
  bool unrotated_only = false;  // only in layers without RoPE (Llama 4)
};

/// DeBERTa's disentangled attention. Each relative distance has an embedding, from which every
/// layer computes a query and a key. Scores sum up to three terms: query and key, query and
/// distance key ("c2p"), distance query and key ("p2c"). The sum is divided by the square root of
/// the number of terms. Source: arXiv 2006.03654; transformers, modeling_deberta_v2.py.
struct DisentangledRule {
  ConfigFlag enabled = {"", true};
  std::string kinds_key = {};  // in config.json: "c2p|p2c", or a list
  std::string table;           // of the embeddings, under the prefix: (2 span, D)
  std::string norm = {};       // norm of the embeddings
  std::string norm_key = {};   // in config.json: contains "layer_norm" if the norm exists
  ConfigKey buckets = {};      // the span; not positive: every distance has its own embedding
  ConfigKey distant = {};  // tokens; not positive: the context length. This is the span if there
                           // are no buckets
  ConfigFlag shared = {"", false};   // true: W_Q and W_K also project the distances
  std::string query = {}, key = {};  // otherwise their own weights, patterns under the prefix
};

/// BucketBias as specified in config.json.
struct BucketRule {
  std::string table;
  ConfigKey count = {"", 32}, distant = {"", 128};
  bool by_head = false, scaled = false;
  ConfigFlag enabled = {"", true};
  std::optional<BucketGate> gate = {};
};

/// DistanceBias as specified in config.json.
struct DistanceRule {
  std::string table;
  ConfigKey before, after;
};

/// Transformer-XL's relative positions: scores are (q + content_bias) · k + (q + position_bias) ·
/// R r, where r are the sinusoids of the distance from the key to the query. The biases are
/// patterns under the prefix, (H, d); `content_bias` is also the bias of W_Q in the description.
/// Source: arXiv 1901.02860; transformers, XLNetRelativeAttention.
struct RelativeWaveRule {
  std::string projection;  // R, pattern, (D, H, d)
  std::string content_bias, position_bias;
  ConfigKey clamp = {};  // tokens; larger distances count as this. Not positive: not used
};

/// How scores are scaled before the softmax.
struct ScoreRule {
  ConfigNumber scale = {};            // factor of q k; none: 1 / sqrt(head dimension)
  ConfigKey scale_dimension = {};     // 1 / sqrt(this) instead (Gemma 2 and 3)
  double dimension_share = 1;         // the scale counts this share of the head dimension
  ConfigFlag scaled = {"", true};     // false: not scaled at all
  ConfigFlag by_layer = {"", false};  // true: divided by the layer's number, counted from 1
  /// For extended contexts: multiplied by the square of YaRN's gain of `mscale_all_dim` (DeepSeek).
  bool times_yarn_gain = false;
  ConfigNumber soft_cap = {};  // c tanh(score / c) before the mask
  TemperatureRule temperature = {};
  ConfigNumber clip = {};  // clips queries, keys and values to ± this after their norms; 0: off
  // Terms added to scores; at most one of these.
  std::optional<Alibi> alibi = {};
  std::optional<BucketRule> buckets = {};
  std::optional<DisentangledRule> disentangled = {};
  std::optional<GridBias> grid = {};
  std::optional<RelativeWaveRule> relative = {};
  std::optional<DistanceRule> distances = {};
  std::optional<GridMlpRule> grid_mlp = {};
  std::optional<AxisBiases> axes = {};
  ConfigFlag has_axes = {"", true};
  /// A pattern under the prefix, (H, 1, 1): logarithms of a factor per head, at most 100. Queries
  /// and keys are divided by their lengths, and nothing else scales scores (Swin v2).
  std::string cosine_scales = {};
  /// A pattern under the prefix, (H,): scores of the learned sink, a column without key and value.
  std::string sinks = {};
};

/// Which layers have a sliding window.
enum class WindowedLayers {
  all,
  even,          // layers 0, 2, 4 …
  even_below,    // the same, below a layer number in config.json
  from_layer,    // from a layer number in config.json on
  but_every,     // all but every n-th
  rotated,       // layers with RoPE
  unrotated,     // layers without RoPE
  but_first_of,  // all but layers 0, n, 2 n …
  listed_kinds,  // "local" in GPT-Neo's attention_layers or attention_types
};

/// A token attends to itself and the W - 1 tokens before it.
struct WindowRule {
  ConfigKey size;                   // W; no value: no layer has a window
  bool chunked = false;             // instead, tokens attend only within consecutive chunks of W
                                    // tokens (Llama 4)
  ConfigFlag enabled = {"", true};  // false: no layer has a window
  WindowedLayers layers = WindowedLayers::all;
  ConfigKey number = {};      // n of even_below, from_layer, but_every and but_first_of
  bool last_is_full = false;  // the last layer has no window, regardless of other settings
  /// `layer_types` overrides `layers`: "sliding_attention", or "chunked_attention" if `chunked`.
  bool reads_layer_types = false;
};

/// Which layers rotate queries and keys.
enum class RotatedLayers {
  all,
  windowed,           // layers of the type that has a window
  windowed_if_sized,  // the same, or all layers if the file sets no window size
  listed,             // 1 in a list of config.json; without the list, all but every n-th
};

/// RoPE: the settings of config.json that determine how Q and K are rotated.
struct RopeRule {
  std::string theta_key = "rope_theta";
  double theta = 10000;           // if the file has none
  ConfigNumber theta_times = {};  // a factor of theta (ChatGLM)
  std::string fraction_key = {};  // share of the head that is rotated; empty: always `fraction`
  double fraction = 1;            // if the file has none
  ConfigKey dimensions = {};      // number of rotary dimensions of a head, instead of the share
  ConfigFlag neighbors = {"", false};  // pairs are dimensions 2k, 2k + 1; otherwise k, k + n
  bool scales_windowed = true;     // false: only full layers are scaled, unless the file specifies
                                   // both
  bool scaling_is_of_all = false;  // an old `rope_scaling` applies to all layers, whatever their
                                   // base
  RotatedLayers layers = RotatedLayers::all;
  std::string layer_list = {};        // key of the list for `listed`
  ConfigKey interval = {};            // n for `listed`
  std::int64_t original_context = 0;  // if the file has none; 0: its context length
  std::string local_theta_key = {};   // theta of windowed layers (Gemma 3), which are never scaled
  double local_theta = 10000;
  std::string alpha_key = {};     // for dynamic scaling, see Rope::alpha; empty: not read
  bool yarn_is_longrope = false;  // old files of Phi-3 use this name
  /// daisy: the first n = head_dim / 4 pairs have frequencies theta^(-k / (n - 1)), the next n have
  /// zero. Pairs rotate in the opposite direction.
  bool half_truncated = false;
  /// PhiMoE: frequencies are scaled as for short texts at every length. The gain is `short_mscale`,
  /// or `long_mscale` beyond the original context.
  bool gains_by_length = false;
  /// JSON: the default of rope_parameters, for all layers or per layer type. Empty: not scaled.
  std::string standard = {};
};

/// Settings that make a decoder's attention bidirectional, as in embedding models.
struct Bidirectional {
  bool by_is_causal = true;        // "is_causal": false in config.json; windows then extend W
                                   // tokens each way
  ConfigFlag flag = {"", false};   // a flag of the family (Gemma 3); windows then extend W / 2 each
                                   // way
  ConfigCondition condition = {};  // a condition of the family (Gemma 4); windows then extend W / 2
                                   // + 1 each way
  ConfigFlag unclear = {"", false};  // if set, the attention implementations of transformers
                                     // disagree
};

/// Multi-head latent attention (MLA): queries, and keys with values, are computed from two
/// low-dimensional latents, each with a norm. A head's queries and keys have `plain` dimensions,
/// followed by `rotary` ones; only those are rotated. The rotary key is computed from the residual
/// stream and shared by all heads. The matrices are the roles q_a, q_b, kv_a and kv_b, or q if
/// queries have no latent. There are as many key/value heads as heads. Source: DeepSeek-V2 (arXiv
/// 2405.04434), section 2.1.
struct MlaRule {
  ConfigKey query_rank;  // null in the file: queries have no latent
  ConfigKey rank;        // of the KV latent
  ConfigKey plain_dim, rotary_dim;
  ConfigKey value_dim;                     // no value: hidden size / heads
  std::string query_norm = {}, norm = {};  // of the latents, both RMS norms
  double epsilon = 1e-6;                   // of these norms, whatever the epsilon of other norms
  /// Keys and values are computed from the residual stream itself, so only `query_rank` and
  /// `query_norm` apply (DeepSeek-V4).
  bool of_queries_alone = false;
};

/// The indexer: a small attention that selects the keys that each query attends to. Its queries are
/// computed from the query latent. Its single key head reads the residual stream and has a
/// LayerNorm. The first dimensions of both are rotated, as many as in the layer's heads. Key j has
/// the score Σ_h w_ih relu(q_ih · k_j) for query i, where w is computed from the residual stream.
/// The keys with the highest scores are selected. Source: DeepSeek-V3.2 (arXiv 2512.02556), section
/// 2.1.
struct IndexerRule {
  ConfigKey kept;  // number of selected keys per query
  ConfigKey heads, head_dim;
  bool neighbors = false;                     // RoPE pairs adjacent dimensions
  std::string query, key, key_norm, weights;  // tensors; the norm's without `.weight` or `.bias`
  double epsilon = 1e-6;                      // of the norm
  /// Layers can reuse the keys that the previous layer selects. Which layers do: "shared" in a list
  /// of layer types; without it, S (not F) in a string; without both, all but every `period`-th
  /// from `offset` on. No names: no layer does.
  std::string kinds = {}, pattern = {};
  ConfigKey period = {}, offset = {};
};

}  // namespace attnscope
