// The forward pass of any described model over token ids: prefill in float32, several sequences at
// once, layer after layer. Source of every rule: transformers, eager attention.
#pragma once

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
#include "attnscope/forward/weights/forward_weights.h"
#include "attnscope/model/model.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Several sequences of any lengths, the tokens of each in rows below those of the one before it.
/// They do not see each other, so that none is padded.
struct SequenceRows {
  std::vector<std::int64_t> first;   // row of each sequence
  std::vector<std::int64_t> length;  // tokens of each
  /// The tokens before each, of which a cache holds what an earlier run made of them.
  std::vector<std::span<const std::int64_t>> past;
  std::int64_t total = 0;
  std::optional<PatchGrid> grid = {};  // of each, where they are images

  /// Position of a sequence's first token, and tokens in all.
  std::int64_t first_position(std::size_t sequence) const { return std::ssize(past[sequence]); }
  std::int64_t tokens(std::size_t sequence) const {
    return first_position(sequence) + length[sequence];
  }
};

/// What enters layer 0, where that is made of no token ids.
struct PreparedStates {
  Matrix<float> states = {};               // (rows, D)
  std::vector<std::int64_t> lengths = {};  // rows of each sequence, which lie one below the other
  std::optional<PatchGrid> grid = {};      // of each, where they are images
};

/// What an encoder gave of several sequences, after its last norm: what its decoder's layers look
/// at. Of a run of more texts than those, the next ones look at the same again, from the first on.
struct EncoderOutput {
  Matrix<float> states;               // (rows, D)
  std::vector<std::int64_t> lengths;  // rows of each sequence, which lie one below the other
};

/// The attention of one layer over all sequences, after softmax: rows are queries, columns keys,
/// those of a cache before the sequence's own; of cross attention those of the encoder's sequence.
struct LayerMaps {
  std::int64_t layer = 0;
  std::int64_t heads = 0;
  std::vector<MatrixView<const float>> maps;  // of each head of sequence 0, then of 1, …
  std::optional<PatchGrid> grid = {};         // of their rows and columns, where they are images

  MatrixView<const float> map(std::int64_t sequence, std::int64_t head) const {
    return maps[static_cast<std::size_t>(sequence * heads + head)];
  }
};

/// Where the router of one layer sent the tokens of all sequences.
struct LayerRouting {
  std::int64_t layer = 0;
  std::int64_t chosen = 0;                // k
  MatrixView<const float> logits;         // (rows, E), before any softmax
  std::span<const std::int64_t> experts;  // (rows, k), the best first
  std::span<const float> weights;         // (rows, k)
  std::span<const std::uint8_t> tied;     // (rows), as ChosenExperts has it
};

/// What the latents of one layer are, of all sequences, before their norms.
struct LayerLatents {
  std::int64_t layer = 0;
  MatrixView<const float> queries;          // (rows, q); no data where queries have no latent
  MatrixView<const float> keys_and_values;  // (rows, c)
};

/// Who looks at a pass while it runs. What it is given is valid during the call. Called on the
/// thread that runs the pass.
struct ForwardObserver {
  /// Hidden states as transformers returns them: index 0 is what enters layer 0, index k what layer
  /// k - 1 gave, the last after the final norm; of images before it. (rows, D); the last of OPT
  /// with projections (rows, E).
  std::function<void(std::int64_t index, MatrixView<const float> states)> on_hidden_states = {};
  std::function<void(const LayerMaps&)> on_maps = {};
  /// Of which layers; empty: of all. Attention costs less without them.
  std::function<bool(std::int64_t layer)> wants_maps = {};
  /// The same of a decoder's attention to what its encoder gives: (T, S).
  std::function<void(const LayerMaps&)> on_cross_maps = {};
  std::function<bool(std::int64_t layer)> wants_cross_maps = {};
  /// What a matrix of a layer reads, (rows, inputs): of `query` also W_K and W_V, or what makes
  /// latents; of `output`; of `up` also W_gate; of `down`. Not of experts' own matrices.
  std::function<void(std::int64_t layer, Role role, MatrixView<const float> input)> on_inputs = {};
  /// Of layers with experts.
  std::function<void(const LayerRouting&)> on_routing = {};
  /// Of layers with latents.
  std::function<void(const LayerLatents&)> on_latents = {};
  /// The stream as it enters each layer; at index L what the last one gave, before the last norm.
  /// (rows, D)
  std::function<void(std::int64_t index, MatrixView<const float> stream)> on_stream = {};
  /// The stream between a layer's attention and its MLP; not of layers where both read the same.
  std::function<void(std::int64_t layer, MatrixView<const float> stream)> on_middle = {};
  /// A layer's queries, then its own keys, then its values, before norms and rotation: (rows, H d +
  /// G d + G d_v). May be changed.
  std::function<void(std::int64_t layer, MatrixView<float> projections)> on_projections = {};
  /// The values of a layer that attends, as its maps weigh them: (rows, G d_v).
  std::function<void(std::int64_t layer, MatrixView<const float> values)> on_values = {};
  /// What a layer's output projection reads, head beside head: (rows, H d_v). May be changed: what
  /// follows is computed from it.
  std::function<void(std::int64_t layer, MatrixView<float> heads)> on_heads = {};
  /// The same of a decoder's attention to what its encoder gives.
  std::function<void(std::int64_t layer, MatrixView<float> heads)> on_cross_heads = {};
  /// What a layer's MLP gives, before a norm of its own and before it is added: (rows, D). May be
  /// changed. Asked for, it is added after it was rounded.
  std::function<void(std::int64_t layer, MatrixView<float> output)> on_mlp = {};
  /// The pass ends with this layer, or with its maps: what it would give is not needed.
  std::optional<std::int64_t> end_after_layer = {};
  std::optional<std::int64_t> end_after_maps_of = {};
  bool ends_across = false;  // with those of its cross attention
};

/// Where a pass begins that goes on from an earlier one.
struct PassStart {
  std::int64_t layer = 0;
  MatrixView<const float> stream;  // (rows, D), as it enters the layer
  /// What on_heads and on_cross_heads saw of it; no data: the layer attends itself.
  MatrixView<const float> heads = {}, cross_heads = {};
  bool attends = true;  // false: its attention adds nothing, not even its bias
};

/// A model that is ready to run. Any number of threads may run it at once.
class ForwardPass {
 public:
  /// `copy_weights`: see ForwardWeights::read(), whose errors it throws. The model must outlive it.
  /// Of a decoder, or of its cross attention, this is the pass of the decoder. `encoder`: of that
  /// decoder; null: it makes its own. Throws Error(format) where the files lack a stack that such a
  /// pass needs.
  ForwardPass(const Model& model, bool copy_weights, const Compute& compute,
              std::shared_ptr<const ForwardPass> encoder = nullptr);

  /// Of which stack it is, where the model has several.
  const Model& model() const { return model_; }

  /// Of a decoder: the pass of its encoder; else null.
  const ForwardPass* encoder() const { return encoder_.get(); }
  /// A decoder's encoder, run on the sources of the texts that the decoder will be run on.
  EncoderOutput encode(std::span<const TokenIds> sources, const ForwardObserver& observer,
                       const Compute& compute) const;
  /// The same of one that hears.
  EncoderOutput encode(std::span<const MediaInput> sources, const ForwardObserver& observer,
                       const Compute& compute) const;

  /// Throws Error(usage) for a sequence that is empty or, after `past` other tokens, longer than
  /// learned positions reach, and for an id that is no token of the model.
  void check(const TokenIds& sequence, std::int64_t past = 0) const;

  /// The last hidden states, (rows, E); empty where the pass ends early. check()s the sequences.
  /// `caches`: none, or one for each sequence, of which it is the continuation, and to which it is
  /// added unless the pass ends early or throws. There must be room for it, and can_continue() must
  /// hold; what is computed then has the digits of a run of the whole text. Throws Error(numerical)
  /// naming the first layer that gives NaN or infinity, and Stopped.
  /// `encoder_output`: of decoders, which throw needs_source() without it; null where the caches
  /// were given it before.
  Matrix<float> run(std::span<const TokenIds> sequences, const ForwardObserver& observer,
                    const Compute& compute, std::span<KeyValueCache> caches = {},
                    const EncoderOutput* encoder_output = nullptr) const;

  /// The same of states that were prepared, positions and norms of the embedding included. Throws
  /// std::invalid_argument where they are not of this shape, or the model reads the ids of tokens
  /// in its layers.
  Matrix<float> run(PreparedStates prepared, const ForwardObserver& observer,
                    const Compute& compute) const;

  /// The same of images, all of one shape (C, rows, columns), or of sound, as the model's processor
  /// gives them. Throws Error(usage) for a shape that the model does not read, or NaN.
  Matrix<float> run(std::span<const MediaInput> media_inputs, const ForwardObserver& observer,
                    const Compute& compute) const;

  /// Whether images are read, and no tokens.
  bool reads_images() const { return weights_.patches.has_value(); }
  bool reads_audio() const { return weights_.audio.has_value(); }
  /// The rows that an image or sound becomes. Throws as run().
  std::int64_t length_of(const MediaInput& media_input) const;
  /// How the rows of such an image lie in it. Throws as run().
  PatchGrid grid_of(const MediaInput& image) const;

  /// Columns of pooled(); 0 where the model has nothing that reads a sequence as a whole.
  std::int64_t pooled_width() const;
  /// Labels' logits of an image, or what a tower of texts and images compares: of one sequence's
  /// rows of run()'s result, and the ids of its tokens where it has some. In pooled_head.cpp.
  std::vector<float> pooled(MatrixView<const float> states, std::span<const std::int64_t> tokens,
                            const Compute& compute) const;
  /// The same from `start` on, whose rows are those of the sequences; may_start_between() holds. A
  /// pass that nothing changes has the digits of a whole one. `encoder_output`: as of run().
  Matrix<float> run_from(const PassStart& start, std::span<const TokenIds> sequences,
                         const ForwardObserver& observer, const Compute& compute,
                         const EncoderOutput* encoder_output = nullptr) const;
  /// Whether a layer needs no more of what came before it than the stream. `remembers`: or the
  /// memory of a decoder.
  bool may_start_between(bool remembers = false) const;
  /// The mean of all learned positions, with the type of a plain text: what a token's place adds to
  /// it. Empty where there are none.
  std::vector<float> mean_position_embedding() const;
  /// What enters layer 0 of each token by itself, (tokens, D), its place adding `place`; empty:
  /// nothing.
  Matrix<float> embed_alone(const TokenIds& ids, std::span<const float> place,
                            const Compute& compute) const;
  /// From any stream to what run() gives of the last one: (rows, E).
  Matrix<float> finish(Matrix<float> stream, const Compute& compute) const;

  const ForwardWeights& weights() const { return weights_; }

  /// Why there are no logits; empty where there are.
  const std::string& no_logits() const { return weights_.no_head; }
  /// Throws Error(format) where a head that the model's description needs is not whole.
  void check_head() const;
  std::int64_t vocabulary() const { return weights_.tokens.rows; }
  /// The longest text that there are positions for. The largest int64 where nothing limits it.
  std::int64_t longest() const;
  /// Columns of the last hidden states, E, and of logits, V, where there are some.
  std::int64_t output_width() const;
  std::int64_t logits_width() const;

  /// (rows, V) of any rows of run()'s result. Throws Error(unsupported) where there are none. In
  /// logits.cpp.
  Matrix<float> logits(MatrixView<const float> states, const Compute& compute) const;
  /// The same into memory that is there, (rows, V); or as they are before the cap of a head that
  /// has one.
  void logits_into(MatrixView<const float> states, MatrixView<float> out, const Compute& compute,
                   bool capped = true) const;

 private:
  /// From what enters the layer that `start` names to what run() gives.
  Matrix<float> run_layers(Matrix<float> states, const PassStart& start,
                           std::span<const TokenIds> sequences, const SequenceRows& rows,
                           const ForwardObserver& observer, const Compute& compute,
                           std::span<KeyValueCache> caches,
                           const EncoderOutput* encoder_output) const;

  /// Throws Error(usage) for an id that is no token of the model.
  void check_ids(const TokenIds& ids) const;

  const Model& model_;
  std::shared_ptr<const ForwardPass> encoder_;
  ForwardWeights weights_;
};

/// Why such a pass cannot run without a source: of decoders.
Error needs_source(const Model& decoder);

/// What one run holds at once beside the weights, in bytes, for so many sequences of so many
/// tokens.
std::uint64_t run_bytes(const ModelSpec& spec, std::int64_t sequences, std::int64_t tokens);

/// The same of a pass made of this model. `source`: of a decoder, the tokens of each of its
/// encoder's sequences, whose run counts, too; else 0.
std::uint64_t run_bytes(const Model& model, std::int64_t sequences, std::int64_t tokens,
                        std::int64_t source);

}  // namespace attnscope
