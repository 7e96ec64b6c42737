// What an architecture can say of its attention: score biases, soft cap, windows, rotary positions,
// MLA. The file of a family in families/ fills it in; nothing here is of one model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attnscope/model/config_keys.h"

namespace attnscope {

// What is added to attention scores by the positions of query and key.

/// ALiBi: slope · (key − query), with a slope for each head. Source: arXiv 2108.12409.
struct Alibi {
  /// The slopes of H heads, where H is no power of two. False: those of the next smaller power,
  /// then every other one of twice as many heads (BLOOM, Falcon). True: of those of the next larger
  /// power the 2nd, 4th …, then the 1st, 3rd …, as many as there are heads (MPT).
  bool of_larger_power = false;
  /// slope · key is rounded to bfloat16, and scaled as q k is (Falcon).
  bool in_bfloat16 = false;

  bool operator==(const Alibi&) const = default;
};

/// A learned number for each head and each bucket of distances: small distances have a bucket each,
/// larger ones share buckets whose widths grow like the distance. Where tokens see both ways, half
/// of the buckets are for keys after the query. Source: T5, arXiv 1910.10683.
struct BucketBias {
  std::string table;           // a pattern under the prefix, (count, H)
  std::int64_t count = 32;     // of buckets
  std::int64_t distant = 128;  // tokens from which on all are in the last bucket

  bool operator==(const BucketBias&) const = default;
};

/// Queries of later positions t are larger: q (1 + `growth` ln(1 + floor(t / `period`))).
struct TemperatureRule {
  ConfigNumber growth = {};  // no value: queries stay as they are
  ConfigKey period = {};     // tokens
  bool in_rope = true;       // both are keys of rope_parameters (Ministral 3)
  ConfigFlag enabled = {"", true};
  std::int64_t first = 0;       // t of the first token
  bool unrotated_only = false;  // only in layers that do not rotate (Llama 4)
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

/// BucketBias, by config.json.
struct BucketRule {
  std::string table;
  ConfigKey count = {"", 32}, distant = {"", 128};
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
  std::optional<BucketRule> buckets = {};
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
  rotated,       // those that rotate
  unrotated,     // those that do not
  but_first_of,  // all but layers 0, n, 2 n …
  listed_kinds,  // "local" in GPT-Neo's attention_layers or attention_types
};

/// A token sees itself and the W - 1 tokens before it.
struct WindowRule {
  ConfigKey size;                   // W; no value: no layer has a window
  bool chunked = false;             // runs of W tokens see only each other instead (Llama 4)
  ConfigFlag enabled = {"", true};  // false: no layer has one
  WindowedLayers layers = WindowedLayers::all;
  ConfigKey number = {};      // of even_below, from_layer, but_every and but_first_of
  bool last_is_full = false;  // the last layer has none, whatever else is said
  /// `layer_types` overrides `layers`: "sliding_attention", or "chunked_attention" if `chunked`.
  bool reads_layer_types = false;
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
  ConfigFlag neighbors = {"", false};  // pairs are dimensions 2k, 2k + 1; else k, k + n
  bool scales_windowed = true;     // false: only full layers are scaled, unless the file says both
  bool scaling_is_of_all = false;  // an old `rope_scaling` is of all layers, whatever their base
  RotatedLayers layers = RotatedLayers::all;
  std::string layer_list = {};        // of `listed`
  ConfigKey interval = {};            // n of `listed`
  std::int64_t original_context = 0;  // if the file has none; 0: its context
  std::string local_theta_key = {};   // theta of windowed layers (Gemma 3), which are never scaled
  double local_theta = 10000;
  std::string alpha_key = {};     // of dynamic scaling, see Rope::alpha; empty: not read
  bool yarn_is_longrope = false;  // as old files of Phi-3 name it
  /// Frequencies theta^(-k / (n - 1)) for the first n = head_dim / 4 pairs, zero for the next n,
  /// rotated in the opposite direction (daisy).
  bool half_truncated = false;
  /// Scaled frequencies are those of short texts at every length, and `short_mscale` or, beyond the
  /// original context, `long_mscale` is the gain (PhiMoE).
  bool gains_by_length = false;
  /// JSON: what rope_parameters are if the file has none, for all layers or for each kind. Empty:
  /// not scaled.
  std::string standard = {};
};

/// Keys that let the tokens of a decoder see each other both ways, as in embedding models.
struct Bidirectional {
  bool by_is_causal = true;        // config.json's "is_causal": false; windows then reach W tokens
                                   // each way
  ConfigFlag flag = {"", false};   // of the family (Gemma 3); windows then reach W / 2 each way
  ConfigCondition condition = {};  // likewise (Gemma 4); windows then reach W / 2 + 1 each way
  ConfigFlag unclear = {"", false};  // if set, transformers' attention implementations disagree
};

/// Multi-head latent attention: queries, and keys with values, are made of two narrow latents, each
/// with a norm. A head's queries and keys are `plain` dimensions, then `rotary` ones, which alone
/// turn; those of keys come from the stream and serve all heads. The matrices are the roles q_a,
/// q_b, kv_a and kv_b, or q where queries have no latent. As many key/value heads as heads.
/// Source: DeepSeek-V2 (arXiv 2405.04434), section 2.1.
struct MlaRule {
  ConfigKey query_rank;  // null in the file: queries have no latent
  ConfigKey rank;        // of the latent of keys and values
  ConfigKey plain_dim, rotary_dim;
  ConfigKey value_dim;                     // no value: width / heads
  std::string query_norm = {}, norm = {};  // of the latents, both RMS norms
  double epsilon = 1e-6;                   // theirs, whatever that of other norms is
  /// Keys and values are made of the stream itself, so only `query_rank` and `query_norm` count
  /// (DeepSeek-V4).
  bool of_queries_alone = false;
};

/// Which keys each query sees, where a small attention beside the layer's own, the indexer, selects
/// them. Its queries are made of the latent of queries, its one head of keys of the stream, with a
/// LayerNorm; of both as many dimensions turn as of the layer's heads, the first ones. Key j has
/// for query i the score Σ_h w_ih relu(q_ih · k_j), where w is made of the stream; the best are
/// seen. Source: DeepSeek-V3.2 (arXiv 2512.02556), section 2.1.
struct IndexerRule {
  ConfigKey kept;  // keys that each query sees
  ConfigKey heads, head_dim;
  bool neighbors = false;                     // which dimensions turn together
  std::string query, key, key_norm, weights;  // tensors, the norm's without its ending
  double epsilon = 1e-6;                      // of the norm
  /// Layers may see the keys that the one before them sees: those that are "shared" in a list of
  /// all layers' kinds; without it, those that are S, and not F, in a text; without both, all but
  /// each `period`-th from `offset` on. No names: no layer does.
  std::string kinds = {}, pattern = {};
  ConfigKey period = {}, offset = {};
};

}  // namespace attnscope
