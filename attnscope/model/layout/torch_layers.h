// Suggests a layout file for models of nn.TransformerEncoderLayer or nn.TransformerDecoderLayer,
// which have no config.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

struct TorchLayers {
  std::string layout;  // text of a layout file of the weights; `heads` is null: no file stores it
  std::string prefix;  // of the described stack: "encoder."
  /// Number of matrices that the layout does not name: embeddings, other stacks, cross-attention.
  std::int64_t others = 0;
};

/// Of several stacks, describes the first one in the file. Nothing if no tensor is named as in
/// these layers, or if the shapes contradict each other.
std::optional<TorchLayers> layout_of_torch_layers(const Checkpoint& checkpoint);

}  // namespace attnscope
