// Suggests a layout file for models of nn.TransformerEncoderLayer or nn.TransformerDecoderLayer,
// which have no config.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

struct TorchLayers {
  std::string layout;  // text of a layout file of the weights; `heads` is null: no file stores it
  /// Tensors that the layout does not name, without biases and norms: embeddings, other stacks,
  /// cross-attention.
  std::vector<std::string> others;
};

/// Of several stacks, describes the first one in the file. Nothing if no tensor is named as in
/// these layers, or if the shapes contradict each other.
std::optional<TorchLayers> layout_of_torch_layers(const Checkpoint& checkpoint);

}  // namespace attnscope
