// Forward pass of any described model over token ids: prefill in float32, layer by layer, for
// several sequences at once. Reference for every rule: transformers with eager attention.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/matrix_view.h"
#include "attnscope/base/model_inputs.h"
#include "attnscope/forward/key_value_cache.h"
#include "attnscope/forward/patch_windows.h"
#include "attnscope/forward/weights/forward_weights.h"
#include "attnscope/model/model.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Several sequences of any lengths, with their tokens as consecutive rows. Sequences do not attend
/// to each other, so no padding is needed.
struct SequenceRows {
  std::vector<std::int64_t> first;   // first row of each sequence
  std::vector<std::int64_t> length;  // number of tokens of each sequence
  /// Earlier tokens of each sequence, whose keys and values are in a cache.
  std::vector<std::span<const std::int64_t>> past;
  std::int64_t total = 0;
  std::optional<PatchGrid> grid = {};  // patch grid of each sequence, for images
  /// The windows of an image, if each sequence is a window. Those of an image follow each other.
  const std::vector<PatchWindow>* windows = nullptr;

  /// Returns the position of a sequence's first token, and its total number of tokens.
  std::int64_t first_position(std::size_t sequence) const { return std::ssize(past[sequence]); }
  std::int64_t tokens(std::size_t sequence) const {
    return first_position(sequence) + length[sequence];
  }
};

/// Input of layer 0 that is not computed from token ids.
struct PreparedStates {
  Matrix<float> states = {};               // (rows, D)
  std::vector<std::int64_t> lengths = {};  // rows of each sequence; sequences are stacked
  std::optional<PatchGrid> grid = {};      // patch grid of each sequence, for images
};

/// Output of an encoder for several sequences, after its final norm: the input of the decoder's
/// cross-attention. If the decoder runs more sequences, decoder sequence i uses encoder sequence i
/// modulo their number.
struct EncoderOutput {
  Matrix<float> states;               // (rows, D)
  std::vector<std::int64_t> lengths;  // rows of each sequence; sequences are stacked
};

/// Attention maps of one layer for all sequences, after softmax. Rows are queries and columns are
/// keys; cached keys come first. For cross-attention, the keys are those of the encoder's sequence.
/// With attention in windows, each window of an image is a sequence. Its maps do not have the
/// padding of the window, so rows with padding sum to less than 1.
struct LayerMaps {
  std::int64_t layer = 0;
  std::int64_t heads = 0;
  std::vector<MatrixView<const float>> maps;  // all heads of sequence 0, then of 1, …
  std::optional<PatchGrid> grid = {};         // patch grid of rows and columns, for images
  std::span<const PatchWindow> windows = {};  // of an image, whose maps follow each other; empty:
                                              // a map covers its whole sequence

  MatrixView<const float> map(std::int64_t sequence, std::int64_t head) const {
    return maps[static_cast<std::size_t>(sequence * heads + head)];
  }
  /// Returns the number of texts or images.
  std::int64_t inputs() const {
    return std::ssize(maps) / heads / std::max<std::int64_t>(std::ssize(windows), 1);
  }
  /// Returns the map of a whole image, with 0 between its windows: (T, T). Requires windows.
  Matrix<float> map_of_image(std::int64_t image, std::int64_t head) const;
};

/// Router decisions of one layer for the tokens of all sequences.
struct LayerRouting {
  std::int64_t layer = 0;
  std::int64_t chosen = 0;                // k
  MatrixView<const float> logits;         // (rows, E), before any softmax
  std::span<const std::int64_t> experts;  // (rows, k), best expert first
  std::span<const float> weights;         // (rows, k)
  std::span<const std::uint8_t> tied;     // (rows), see ChosenExperts
};

/// MLA latents of one layer for all sequences, before their norms.
struct LayerLatents {
  std::int64_t layer = 0;
  MatrixView<const float> queries;          // (rows, q); no data without a query latent
  MatrixView<const float> keys_and_values;  // (rows, c)
};

class ForwardHooks;  // hooks.h
struct HookCalls;

/// Callbacks of a forward pass. Their arguments are valid during the call. They are called
/// on the thread that runs the pass.
struct ForwardObserver {
  /// Hidden states as in transformers, (rows, D); with AltUp, those of the active stream. Index 0
  /// is the input of layer 0, index k the output of layer k − 1. The last one is after the final
  /// norm, except for vision models. It is (rows, E) for OPT with projections.
  std::function<void(std::int64_t index, MatrixView<const float> states)> on_hidden_states = {};
  std::function<void(const LayerMaps&)> on_maps = {};
  /// Layers whose maps are requested; empty: all. Attention is faster without maps.
  std::function<bool(std::int64_t layer)> wants_maps = {};
  /// Maps of a decoder's cross-attention, (T, S).
  std::function<void(const LayerMaps&)> on_cross_maps = {};
  std::function<bool(std::int64_t layer)> wants_cross_maps = {};
  /// Input of a matrix of a layer, (rows, inputs). `query`: also the input of W_K and W_V, or of
  /// the MLA down-projections. `up`: also the input of W_gate. Others: `output`, `down`. Not called
  /// for matrices of experts.
  std::function<void(std::int64_t layer, Role role, MatrixView<const float> input)> on_inputs = {};
  /// Matrices whose inputs are requested; empty: all.
  std::function<bool(std::int64_t layer, Role role)> wants_inputs = {};
  /// Called for MoE layers.
  std::function<void(const LayerRouting&)> on_routing = {};
  /// Called for layers with MLA.
  std::function<void(const LayerLatents&)> on_latents = {};
  /// Residual stream before each layer, (rows, D). Index L: after the last layer, before the final
  /// norm. With AltUp: the prediction of the active stream, and the mean of all streams at index L.
  std::function<void(std::int64_t index, MatrixView<const float> stream)> on_stream = {};
  /// Indices whose streams are requested; empty: all.
  std::function<bool(std::int64_t index)> wants_stream = {};
  /// Residual stream between a layer's attention and its MLP. Not called for layers with parallel
  /// attention and MLP.
  std::function<void(std::int64_t layer, MatrixView<const float> stream)> on_middle = {};
  /// Values of a layer as weighted by its attention maps: (rows, G d_v).
  std::function<void(std::int64_t layer, MatrixView<const float> values)> on_values = {};
  /// Input of a layer's output projection, head by head: (rows, H d_v). May be modified; later
  /// results follow from it.
  std::function<void(std::int64_t layer, MatrixView<float> heads)> on_heads = {};
  /// Input of the output projection of a decoder's cross-attention.
  std::function<void(std::int64_t layer, MatrixView<float> heads)> on_cross_heads = {};
  /// Output of a layer's MLP, before a norm of this output and before it is added: (rows, D). May
  /// be modified. With this callback, the output is rounded to float32 before it is added.
  std::function<void(std::int64_t layer, MatrixView<float> output)> on_mlp = {};
  /// Output of a layer's mixer, including its bias, before any factor and before it is added:
  /// (rows, D). May be modified. With this callback, the output is rounded to float32 before it is
  /// added.
  std::function<void(std::int64_t layer, MatrixView<float> output)> on_mixer = {};
  /// Layers whose heads, MLP and mixer are requested; empty: all.
  std::function<bool(std::int64_t layer)> wants_parts = {};
  /// Ends the pass after this layer, or after its attention maps, if the rest is not needed.
  std::optional<std::int64_t> end_after_layer = {};
  std::optional<std::int64_t> end_after_maps_of = {};
  bool ends_across = false;  // ends after the maps of its cross-attention
  /// Named activations, which may be read or changed. Null: none.
  ForwardHooks* hooks = nullptr;

  /// Whether the callback of streams, maps, inputs or components is called.
  bool sees_stream(std::int64_t index) const {
    return on_stream && (!wants_stream || wants_stream(index));
  }
  bool sees_maps(std::int64_t layer) const { return on_maps && (!wants_maps || wants_maps(layer)); }
  bool sees_input(std::int64_t layer, Role role) const {
    return on_inputs && (!wants_inputs || wants_inputs(layer, role));
  }
  bool sees_parts_of(std::int64_t layer) const { return !wants_parts || wants_parts(layer); }
};

/// Start of a pass that continues an earlier one.
struct PassStart {
  std::int64_t layer = 0;
  MatrixView<const float> stream;  // (rows, D), residual stream before the layer
  /// Values of on_heads and on_cross_heads for this layer. No data: the layer computes its
  /// attention.
  MatrixView<const float> heads = {}, cross_heads = {};
  bool attends = true;  // false: its attention and mixer add nothing, not even biases
};

/// A model that is ready to run. Thread-safe.
class ForwardPass {
 public:
  /// The model must outlive this object. `copy_weights`: see ForwardWeights::read(), whose errors
  /// this throws. For a decoder or its cross-attention stack, this is the pass of the decoder.
  /// `encoder`: the pass of its encoder; null: it is created. Throws Error(format) if the files
  /// lack a stack that the pass needs.
  ForwardPass(const Model& model, bool copy_weights, const Compute& compute,
              std::shared_ptr<const ForwardPass> encoder = nullptr);

  /// The model, or the stack of it that this pass runs.
  const Model& model() const { return model_; }

  /// The pass of a decoder's encoder. Null for other models.
  const ForwardPass* encoder() const { return encoder_.get(); }
  /// Runs a decoder's encoder on the source texts.
  EncoderOutput encode(std::span<const TokenIds> sources, const ForwardObserver& observer,
                       const Compute& compute) const;
  /// Runs an image or audio encoder on the sources.
  EncoderOutput encode(std::span<const MediaInput> sources, const ForwardObserver& observer,
                       const Compute& compute) const;

  /// Throws Error(usage) if a sequence is empty, contains an invalid token id or type, or (after
  /// `past` earlier tokens) exceeds the learned positions.
  void check(const TokenIds& sequence, std::int64_t past = 0) const;

  /// Runs the sequences and returns the last hidden states, (rows, E). Empty if the pass ends
  /// early. Calls check() on the sequences. `caches`: empty, or one per sequence, which continues
  /// the cached tokens. Each sequence is added to its cache, unless the pass ends early or throws.
  /// The cache must have room, and can_continue() must hold; results then equal a run of the whole
  /// text bit for bit. `encoder_output`: for decoders, which throw needs_source() without it. May
  /// be null if the caches already have it. Throws Error(numerical) with the first layer that
  /// outputs NaN or infinity, and Stopped.
  Matrix<float> run(std::span<const TokenIds> sequences, const ForwardObserver& observer,
                    const Compute& compute, std::span<KeyValueCache> caches = {},
                    const EncoderOutput* encoder_output = nullptr) const;

  /// Runs prepared states, which include position embeddings and embedding norms. Throws
  /// std::invalid_argument if they have the wrong shape, or if layers of the model read token ids.
  Matrix<float> run(PreparedStates prepared, const ForwardObserver& observer,
                    const Compute& compute) const;

  /// Runs images, all of one shape (C, rows, columns), or audio, as prepared by the model's
  /// processor. Throws Error(usage) for shapes that do not fit the model, and for NaN.
  Matrix<float> run(std::span<const MediaInput> media_inputs, const ForwardObserver& observer,
                    const Compute& compute) const;

  /// Returns whether the model takes images or audio instead of tokens.
  bool reads_images() const { return weights_.patches.has_value(); }
  bool reads_audio() const { return weights_.audio.has_value(); }
  /// Returns the number of rows for an image or audio. Throws like run().
  std::int64_t length_of(const MediaInput& media_input) const;
  /// Returns the patch grid of an image. Throws like run().
  PatchGrid grid_of(const MediaInput& image) const;

  /// Returns the columns of pooled(). 0 if the model has no pooled head.
  std::int64_t pooled_width() const;
  /// Returns the label logits of an image, or the embedding of a CLIP-like model. `states`: run()'s
  /// result for one sequence. `tokens`: its token ids, if it has any. Defined in pooled_head.cpp.
  std::vector<float> pooled(MatrixView<const float> states, std::span<const std::int64_t> tokens,
                            const Compute& compute) const;

  /// Returns whether the model is a classifier, which has labels instead of logits over tokens.
  bool predicts_labels() const { return model_.spec().labels.has_value(); }
  /// Returns the head of a classifier. Throws Error(format) if the files lack it. Defined in
  /// label_logits.cpp.
  const LabelHeadWeights& label_head() const;
  /// Returns the row that the head of a sequence classifier reads; for the mean of all rows, 0.
  std::int64_t label_row(const TokenIds& tokens) const;
  /// Returns the label logits: (1, labels) for a sequence classifier, (rows, labels) for a token
  /// classifier, and (rows, 2) for question answering: first and last token of the answer.
  /// `states`: run()'s result for one sequence. `tokens`: its token ids. Throws Error(numerical) if
  /// one is not finite.
  Matrix<float> label_logits(MatrixView<const float> states, const TokenIds& tokens,
                             const Compute& compute) const;

  /// Runs the sequences from `start` on, whose rows belong to them. Requires may_start_between().
  /// Without modifications, results equal a whole pass bit for bit. `encoder_output` and `caches`:
  /// as for run(). Caches are changed only from the start layer on.
  Matrix<float> run_from(const PassStart& start, std::span<const TokenIds> sequences,
                         const ForwardObserver& observer, const Compute& compute,
                         const EncoderOutput* encoder_output = nullptr,
                         std::span<KeyValueCache> caches = {}) const;
  /// Returns whether a layer's only input is the residual stream. `remembers`: allows the encoder
  /// output as a second input.
  bool may_start_between(bool remembers = false) const;
  /// Returns the mean of all learned position embeddings, plus the type embedding of a plain text.
  /// Empty if the model has neither.
  std::vector<float> mean_position_embedding() const;
  /// Returns the input of layer 0 for each token alone, (tokens, D). `place`: the position
  /// embedding to add; empty: none.
  Matrix<float> embed_alone(const TokenIds& ids, std::span<const float> place,
                            const Compute& compute) const;
  /// Applies the final norm and projection to a residual stream, like run() at its end: (rows, E).
  Matrix<float> finish(Matrix<float> stream, const Compute& compute) const;

  const ForwardWeights& weights() const { return weights_; }

  /// Returns why the model has no logits. Empty if it has.
  const std::string& no_logits() const { return weights_.no_head; }
  /// Throws Error(format) if an LM head required by the model's description is incomplete.
  void check_head() const;
  std::int64_t vocabulary() const { return weights_.tokens.rows; }
  /// Returns the maximum number of tokens with learned positions. The largest int64 if there is no
  /// limit.
  std::int64_t longest() const;
  /// Returns the columns of the last hidden states, E, and of the logits, V (0 without logits).
  std::int64_t output_width() const;
  std::int64_t logits_width() const;

  /// Returns the logits (rows, V) of any rows of run()'s result. Throws Error(unsupported) if the
  /// model has no logits. Defined in logits.cpp.
  Matrix<float> logits(MatrixView<const float> states, const Compute& compute) const;
  /// Writes the logits into existing memory, (rows, V). `capped`: applies the soft cap of models
  /// that have one.
  void logits_into(MatrixView<const float> states, MatrixView<float> out, const Compute& compute,
                   bool capped = true) const;

 private:
  /// Runs the layers from `start` on. Takes the input of this layer, and returns the result of
  /// run().
  Matrix<float> run_layers(Matrix<float> states, const PassStart& start,
                           std::span<const TokenIds> sequences, const SequenceRows& rows,
                           const ForwardObserver& observer, const Compute& compute,
                           std::span<KeyValueCache> caches,
                           const EncoderOutput* encoder_output) const;

  /// Takes the residual stream after the last layer, and returns the result of run().
  Matrix<float> end_pass(Matrix<float> states, std::span<const TokenIds> sequences,
                         const ForwardObserver& observer, const Compute& compute,
                         std::span<KeyValueCache> caches, const HookCalls& hooks) const;

  Matrix<float> finish(Matrix<float> stream, const Compute& compute, const HookCalls& hooks) const;
  /// Applies the projection between encoder and decoder, if there is one.
  EncoderOutput projected(EncoderOutput output, const Compute& compute) const;
  /// Throws Error(usage) for an id that is not a token of the model.
  void check_ids(const TokenIds& ids) const;
  /// Throws Error(usage) for a token type that the model does not have.
  void check_types(const TokenIds& ids) const;

  const Model& model_;
  std::shared_ptr<const ForwardPass> encoder_;
  ForwardWeights weights_;
};

/// Returns the error for running a decoder without a source.
Error needs_source(const Model& decoder);

/// Returns the peak memory of one run in bytes, without the weights, for the given number of
/// sequences and of tokens per sequence.
std::uint64_t run_bytes(const ModelSpec& spec, std::int64_t sequences, std::int64_t tokens);

/// Returns the same for a ForwardPass of this model. `source`: for decoders, the tokens of each
/// encoder sequence, whose run is included; else 0.
std::uint64_t run_bytes(const Model& model, std::int64_t sequences, std::int64_t tokens,
                        std::int64_t source);

}  // namespace attnscope
