// An architecture in GGUF's names, as data, and how each of its tensors is converted back to
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

/// A change that llama.cpp's converter made to a tensor, to be undone.
enum class Conversion {
  none,
  turned,           // a weight of Conv1D, from (in, out) to (out, in)
  query_pairs,      // rows of each query head: rotary pairs are adjacent
  key_pairs,        // the same of key heads
  heads_of_blocks,  // the queries of each kv head, its key and its value, to all Q, all K, all V
  /// One tensor each, stacked along a new first axis; `{number}` in the name stands for its place.
  numbered,
  one_row,        // the row of a matrix that has no other
  one_channel,    // (channels, tokens) of a convolution that has an axis of one between
  after_padding,  // rows of positions: those that no token of a text has, cut off
  /// Of linear attention: the value heads that share a key head lie far apart, as the first of each
  /// key head, then the second of each, ….
  value_rows,
  value_rows_after_keys,  // the same after the rows of all queries and keys
  value_channels,         // likewise, of a convolution that has an axis of one between
  value_columns,
};

/// A tensor's name in both forms, without ".weight" or ".bias", and without "blk.N." and the
/// layers' prefix. `{number}` in GGUF's name stands for digits. A bare tensor may have neither
/// ending in GGUF's form.
struct GgufName {
  std::string gguf;
  std::string transformers;
  Conversion conversion = Conversion::none;  // of its weight; also of its bias, except `turned`
  bool bare = false;  // transformers' name ends neither in ".weight" nor in ".bias"
};

/// One of several stacks of layers: names of its tensors begin with `before` and "blk.N.".
struct GgufStack {
  std::string_view before, layer_prefix;
  std::vector<GgufName> tensors;  // of a layer
};

/// A layer's tensor of which the converter made two. Whole names but for "blk.N." and the layers'
/// prefix.
struct GgufJoin {
  std::string transformers;
  std::string first, second;
  enum class Order {
    parts,  // the rows of the first, then of the second
    /// Both have a first axis of heads, and each head of the first is transposed: the rows of each
    /// head's first, then of its second.
    heads,
    /// Of linear attention, the first all queries, all keys, all values, the second all gates: of
    /// each key head its queries, keys, values and gates.
    key_heads,
  };
  Order order = Order::parts;
};

/// A number of the file and its key in config.json, where a dot goes into an object.
struct GgufKey {
  std::string_view gguf;  // after the architecture's name and a dot
  std::string_view transformers;
};

/// What must hold of a file for a description to be used; empty parts always hold.
struct GgufCondition {
  std::string_view key = {};    // whose value, a text or a whole number, …
  std::string_view value = {};  // … is this; empty: … is a number other than 0
  std::string_view tensor = {};
};

struct GgufFamily {
  std::string_view name;        // general.architecture
  std::string_view model_type;  // config.json
  GgufCondition only_if = {};
  std::vector<GgufName> tensors;
  std::string_view layer_prefix = {};  // before the number of a layer
  std::vector<GgufName> layer_tensors = {};
  std::vector<GgufStack> stacks = {};  // in their place
  std::vector<GgufJoin> joins = {};
  std::vector<GgufKey> sizes;        // whole numbers; 0 stands for none
  std::vector<GgufKey> counts = {};  // whole numbers that may be 0
  std::vector<GgufKey> numbers;      // others
  std::vector<GgufKey> flags = {};
  /// A JSON object: keys of config.json whose values its files do not say. Those that one says
  /// replace them.
  std::string_view assumed = {};
  std::string_view rope_assumed = {};  // the same of scaled rope_parameters
  bool rotary = true;
  bool partly_rotary = false;    // rope.dimension_count may be less than a head
  double base = 10000;           // of frequencies, where the file does not say
  bool base_by_kind = false;     // layers with a window have a base of their own
  bool rope_by_kind = false;     // layers with a window are not scaled
  bool sizes_by_kind = false;    // heads of layers with a window and of others differ: Gemma 4
  bool layout_by_heads = false;  // Falcon: which of its layouts it is, its kv heads and norms show
  /// DeepSeek: where the file does not say, groups of experts are those of the published models.
  bool published_groups = false;
  /// What layers without kv heads are called in config.json's `layer_types`; empty: all attend.
  std::string_view kind_without_kv = {};
  bool mla = false;               // keys and values come from a latent vector
  bool linear_attention = false;  // in layers that do not attend: Gated DeltaNet
  bool causal = true;             // unless the file says otherwise
  bool has_head = true;           // in the file: kept, or tied to the embedding
  /// Gains of norms are kept with 1 added.
  bool whole_gains = false;
  /// Keys of config.json that say what the tensors show; empty: there is none.
  std::string_view bias_key = "attention_bias";
  std::string_view head_norm_key = {};      // whether queries and keys have norms
  std::string_view last_expert_layer = {};  // the last with experts
  std::string_view lost = {};  // what its files lack, as a note for the user; empty: nothing
};

/// Null for an architecture that is not described. `parts`: all of the checkpoint, in order.
const GgufFamily* find_gguf_family(std::span<const GgufFile> parts);

/// A tensor's name in transformers' form; nothing if the architecture has no such name.
struct RenamedTensor {
  std::string name;
  Conversion conversion = Conversion::none;
};
std::optional<RenamedTensor> renamed(const GgufFamily& family, std::string_view name);

/// "blk.7.attn_q.weight" as 7 and "attn_q.weight"; nothing for a tensor of no layer.
struct LayerTensorName {
  std::string_view layer, rest;
};
std::optional<LayerTensorName> layer_tensor_name(std::string_view name);

/// The family's name, a dot, and the key.
std::string family_key(const GgufFamily& family, std::string_view key);

/// The tensor of that name in any part; null if there is none.
const GgufTensor* find_tensor(std::span<const GgufFile> parts, std::string_view name);

}  // namespace attnscope
