// The description of an architecture in GGUF's names, as data, and how each of its tensors goes
// back to what transformers keeps. The descriptions are in gguf_families.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// What llama.cpp's converter did to a tensor, which is to be undone.
enum class Conversion {
  none,
  turned,           // a weight of Conv1D, from (in, out) to (out, in)
  query_pairs,      // rows of each query head: the two that turn together lie side by side
  key_pairs,        // the same of key heads
  heads_of_blocks,  // Q, K and V of each head, to all of Q, all of K, all of V
};

/// One name, without ".weight" or ".bias", and without "blk.N." and the prefix of layers.
struct GgufName {
  std::string_view gguf;
  std::string_view transformers;
  Conversion conversion = Conversion::none;  // of its weight, and of its bias but for `turned`
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
  std::string_view lost = {};  // what files of it do not hold, for the user; empty: nothing
};

/// Null for an architecture that is not described.
const GgufFamily* find_gguf_family(std::string_view architecture);

/// Where a tensor goes in transformers' form; nothing where the architecture has no such name.
struct RenamedTensor {
  std::string name;
  Conversion conversion = Conversion::none;
};
std::optional<RenamedTensor> renamed(const GgufFamily& family, std::string_view name);

}  // namespace attnscope
