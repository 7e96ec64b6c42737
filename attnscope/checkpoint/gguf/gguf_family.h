// An architecture with GGUF's names, as data, and how each of its tensors is converted back to
// transformers' form. The descriptions are in families/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/gguf/gguf_file.h"

namespace attnscope {

/// A change to a tensor by llama.cpp's converter, which is undone.
enum class Conversion {
  none,
  turned,           // a weight of Conv1D, from (in, out) to (out, in)
  query_pairs,      // rows of each query head: rotary pairs are adjacent
  key_pairs,        // rows of each key head: rotary pairs are adjacent
  heads_of_blocks,  // Q, K and V per key/value head, reordered to all Q, all K, all V.
  /// Separate tensors, stacked along a new first axis; `{number}` in the name stands for the index.
  numbered,
  one_row,        // a vector that stands for a matrix with one row
  one_channel,    // (channels, tokens) of a convolution that has a middle axis of size 1
  after_padding,  // position rows: those that no token of a text uses are cut off
  /// Linear attention: value heads that share a key head are not adjacent. The first value head of
  /// every key head comes first, then the second of every key head, ….
  value_rows,
  value_rows_after_keys,  // the same, after the rows of all queries and keys
  value_channels,         // the same, for a convolution that has a middle axis of size 1
  value_columns,
};

/// A tensor's name in both forms, without ".weight" or ".bias", and without "blk.N." and the
/// layers' prefix. `{number}` in GGUF's name stands for digits. A bare tensor may have neither
/// suffix in GGUF's form.
struct GgufName {
  std::string gguf;
  std::string transformers;
  Conversion conversion = Conversion::none;  // of its weight; also of its bias, except `turned`
  bool bare = false;  // transformers' name ends in neither ".weight" nor ".bias"
};

/// One of several stacks: names of its tensors begin with `before` and "blk.N.".
struct GgufStack {
  std::string_view before, layer_prefix;
  std::vector<GgufName> tensors;  // tensors of a layer
};

/// A layer's tensor that the converter split into two. Full names without "blk.N." and the layers'
/// prefix.
struct GgufJoin {
  std::string transformers;
  std::string first, second;
  enum class Order {
    parts,  // the rows of the first, then of the second
    /// Both have a first axis of heads, and each head of the first is transposed. Per head: the
    /// rows of the first, then of the second.
    heads,
    /// Linear attention: the first tensor has all queries, all keys and all values; the second has
    /// all gates. The joined tensor has queries, keys, values and gates per key head.
    key_heads,
  };
  Order order = Order::parts;
};

/// A number of the file and its key in config.json. A dot in the key leads into an object.
struct GgufKey {
  std::string_view gguf;  // after the architecture's name and a dot
  std::string_view transformers;
};

/// Conditions on a file for a description to be used; empty conditions always hold.
struct GgufCondition {
  std::string_view key = {};    // the key whose value, a text or an integer, …
  std::string_view value = {};  // … equals this; empty: … is not 0
  std::string_view tensor = {};
};

struct GgufFamily {
  std::string_view name;        // general.architecture
  std::string_view model_type;  // model_type in config.json
  GgufCondition only_if = {};
  std::vector<GgufName> tensors;
  std::string_view layer_prefix = {};  // before the number of a layer
  std::vector<GgufName> layer_tensors = {};
  std::vector<GgufStack> stacks = {};  // used instead of layer_tensors
  std::vector<GgufJoin> joins = {};
  std::vector<GgufKey> sizes;        // integers; 0 means none
  std::vector<GgufKey> counts = {};  // integers that may be 0
  std::vector<GgufKey> numbers;      // other numbers
  std::vector<GgufKey> flags = {};
  /// A JSON object: keys of config.json whose values the files do not specify. Values in a file
  /// replace them.
  std::string_view assumed = {};
  std::string_view rope_assumed = {};  // the same for scaled rope_parameters
  bool rotary = true;
  bool partly_rotary = false;    // rope.dimension_count may be less than the head dimension
  double base = 10000;           // RoPE base, if the file does not specify it
  bool base_by_kind = false;     // layers with a window have their own RoPE base
  bool rope_by_kind = false;     // RoPE is not scaled in layers with a window
  bool sizes_by_kind = false;    // heads of layers with a window differ from those of other layers:
                                 // Gemma 4
  bool layout_by_heads = false;  // Falcon: key/value heads and norms show which variant it is
  /// DeepSeek: if the file does not specify groups of experts, those of the published models are
  /// assumed.
  bool published_groups = false;
  /// The name in config.json's `layer_types` of layers without key/value heads; empty: all layers
  /// have attention.
  std::string_view kind_without_kv = {};
  bool mla = false;               // MLA: keys and values come from a latent
  bool linear_attention = false;  // Gated DeltaNet in layers without attention
  bool causal = true;             // default, if the file does not specify it
  bool has_head = true;           // LM head: stored in the file, or tied to the embedding
  /// Norm gains are stored with 1 added.
  bool whole_gains = false;
  /// Keys of config.json whose values follow from the tensors; empty: no such key.
  std::string_view bias_key = "attention_bias";
  std::string_view head_norm_key = {};      // whether queries and keys have norms
  std::string_view last_expert_layer = {};  // the last layer with experts
  std::string_view lost = {};  // what its files lack, as a note for the user; empty: nothing
};

/// Returns null for an architecture that is not described. `parts`: all parts of the checkpoint, in
/// order.
const GgufFamily* find_gguf_family(std::span<const GgufFile> parts);

/// Returns a tensor's name in transformers' form; nothing if the architecture has no such name.
struct RenamedTensor {
  std::string name;
  Conversion conversion = Conversion::none;
};
std::optional<RenamedTensor> renamed(const GgufFamily& family, std::string_view name);

/// Splits "blk.7.attn_q.weight" into 7 and "attn_q.weight"; returns nothing for a tensor outside of
/// layers.
struct LayerTensorName {
  std::string_view layer, rest;
};
std::optional<LayerTensorName> layer_tensor_name(std::string_view name);

/// Returns the family's name, a dot, and the key.
std::string family_key(const GgufFamily& family, std::string_view key);

/// Returns the tensor of that name in any part; null if there is none.
const GgufTensor* find_tensor(std::span<const GgufFile> parts, std::string_view name);

}  // namespace attnscope
