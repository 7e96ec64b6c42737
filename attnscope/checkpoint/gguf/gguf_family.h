// An architecture in GGUF's names, as data, and how each of its tensors is converted back to
// transformers' form. The descriptions are in gguf_families.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// A change that llama.cpp's converter made to a tensor, to be undone.
enum class Conversion {
  none,
  turned,           // a weight of Conv1D, from (in, out) to (out, in)
  query_pairs,      // rows of each query head: rotary pairs are adjacent
  key_pairs,        // the same of key heads
  heads_of_blocks,  // Q, K and V of each head, to all of Q, all of K, all of V
};

/// A tensor's name in both forms, without ".weight" or ".bias", and without "blk.N." and the
/// layers' prefix.
struct GgufName {
  std::string_view gguf;
  std::string_view transformers;
  Conversion conversion = Conversion::none;  // of its weight; also of its bias, except `turned`
};

/// A number of the file and its key in config.json.
struct GgufKey {
  std::string_view gguf;  // after the architecture's name and a dot
  std::string_view transformers;
};

struct GgufFamily {
  std::string_view name;        // general.architecture
  std::string_view model_type;  // config.json
  std::vector<GgufName> tensors;
  std::string_view layer_prefix;  // before the number of a layer
  std::vector<GgufName> layer_tensors;
  std::vector<GgufKey> sizes;    // whole numbers
  std::vector<GgufKey> numbers;  // others
  bool rotary = true;
  bool partly_rotary = false;  // rope.dimension_count may be less than a head
  bool has_head = true;        // in the file: kept, or tied to the embedding
  /// Gains of norms are kept with 1 added.
  bool whole_gains = false;
  std::string_view lost = {};  // what its files lack, as a note for the user; empty: nothing
};

/// Null for an architecture that is not described.
const GgufFamily* find_gguf_family(std::string_view architecture);

/// A tensor's name in transformers' form; nothing if the architecture has no such name.
struct RenamedTensor {
  std::string name;
  Conversion conversion = Conversion::none;
};
std::optional<RenamedTensor> renamed(const GgufFamily& family, std::string_view name);

}  // namespace attnscope
