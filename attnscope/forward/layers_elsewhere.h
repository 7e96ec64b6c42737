// Layers of a model that run outside of this library, such as in PyTorch on a GPU.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/hooks.h"
#include "attnscope/model/model.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// One pass through the layers, with their attention. All members are valid during the pass.
struct LayersRequest {
  const ForwardPass& pass;
  const PassStart& start;
  std::span<const TokenIds> sequences;  // empty for images and audio
  const SequenceRows& rows;
  const ForwardObserver& observer;
  const EncoderOutput* encoder_output;  // null: none, or the caches have it
  std::span<KeyValueCache> caches;      // only their addresses and tokens matter
  const Compute& compute;
};

class LayersElsewhere : public LayerRunner {
 public:
  /// Runs the layers, with the callbacks of the observer. Returns the residual stream after the
  /// last layer, (rows, D). Empty if the observer ends the pass earlier. Throws Error(unsupported)
  /// if a callback cannot be served, and Stopped.
  virtual Matrix<float> run(const LayersRequest& request) const = 0;

  /// Multiplies states by the vocabulary matrix of the LM head, and adds its bias: (rows, V).
  /// Returns false if it cannot.
  virtual bool multiply_by_vocabulary(const Model& model, MatrixView<const float> states,
                                      MatrixView<float> out) const = 0;
};

/// Returns what runs the layers of a model. Null: this library.
const LayersElsewhere* layers_elsewhere(const Model& model);

/// Whether on_values of ForwardObserver is called for every layer.
bool shows_values(const ForwardPass& pass);

/// Returns how many rows to run together.
std::int64_t rows_at_once(const Model& model);

/// An activation of one layer, by name. Names of hook points, and of callbacks of ForwardObserver:
/// stream, middle, heads, cross_heads, mlp and mixer. `routing`: the input of a router.
/// input_query, input_output, input_up and input_down: inputs of matrices.
using NamedActivation = std::pair<std::string, std::int64_t>;

/// Returns the number of layers to run, from layer 0 on.
std::int64_t end_layer(const LayersRequest& request);

/// Returns the activations that the observer and its hooks want, of the layers from `first` on.
/// Throws Error(unsupported) if it has callbacks for others.
std::vector<NamedActivation> wanted_activations(const LayersRequest& request);

/// Passes an activation of a layer (rows, columns), of all sequences, to the callbacks that want
/// it. They may modify it. Stream 0 is the input of layer 0; stream L is the output of the last
/// layer.
void show_activation(const LayersRequest& request, const NamedActivation& activation,
                     MatrixView<float> values);

/// Passes maps of a layer to the hooks and callbacks that want them: all heads of sequence 0, then
/// of 1, … Hooks may modify them. Masked scores are -infinity.
void show_maps(const LayersRequest& request, const NamedActivation& activation,
               std::span<const MatrixView<float>> maps);

}  // namespace attnscope
