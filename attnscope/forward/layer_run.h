// One layer after another over the stream of all sequences.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "attnscope/base/activation.h"
#include "attnscope/base/model_inputs.h"
#include "attnscope/forward/experts.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/mixers.h"
#include "attnscope/forward/mla.h"
#include "attnscope/forward/position_bias.h"
#include "attnscope/forward/sparse_attention_indexer.h"
#include "attnscope/forward/weights/forward_weights.h"
#include "attnscope/numerics/inference/attention.h"
#include "attnscope/numerics/inference/linear.h"
#include "attnscope/numerics/inference/rotary.h"

namespace attnscope {

/// The input that each layer of Gemma 4 gets beside the stream. Keeps its memory between layers.
class PerLayerInput {
 public:
  /// stream += what PerLayerInputRule says. `embedding`: what entered layer 0; both (rows, D) of
  /// all sequences, one after another.
  void add(const PerLayerInputWeights& weights, Activation activation,
           std::span<const TokenIds> sequences, MatrixView<const float> embedding,
           MatrixView<float> stream, const Compute& compute);

 private:
  Matrix<float> input_, narrow_, change_;
};

/// Which keys the queries of a layer see.
AttentionMask mask_of(const MaskSpec& spec);

/// out = norm(x), (rows, n). `out` may be x itself.
void apply_norm(const NormWeights& norm, MatrixView<const float> x, MatrixView<float> out,
                const Compute& compute);

/// out = the layer's product, with its bias and `after`.
void apply(const LinearLayer& layer, MatrixView<const float> x, LinearEpilogue after,
           MatrixView<float> out, const Compute& compute);

/// Throws Error(numerical) where a number of the states is NaN or infinite, Error(io) where a file
/// was cut or written to while they were computed. `of`: what gave them.
void check_states(const ForwardWeights& weights, MatrixView<const float> states,
                  const std::string& of);

/// Holds what one pass needs between its layers.
class LayerRun {
 public:
  /// `sequences`: none where their states were prepared elsewhere. `states`: the stream (rows, D),
  /// which layers change. `caches`: none, or of each sequence, to which keys and values are put.
  /// `encoder_output`: of a decoder whose caches do not have it yet; else null. All must outlive
  /// this.
  LayerRun(const ModelSpec& spec, const ForwardWeights& weights,
           std::span<const TokenIds> sequences, const SequenceRows& rows, Matrix<float>& states,
           const ForwardObserver& observer, const Compute& compute, std::span<KeyValueCache> caches,
           const EncoderOutput* encoder_output);

  /// Runs one layer, or as far as its maps, those of its cross attention where it ends across; the
  /// observer is shown these. `start`: of the layer that a pass begins with. Throws as
  /// check_states().
  void run_layer(std::int64_t layer, bool maps_only, bool ends_across = false,
                 const PassStart& start = {});

 private:
  /// What a thread needs for a head.
  struct Scratch {
    AttentionScratch attention;
    ScoreBiases::Scratch bias;
  };
  std::unique_ptr<Scratch> take_scratch();
  void give_back(std::unique_ptr<Scratch> scratch);

  using Positions = std::vector<const RotaryTable*>;  // of each sequence; empty: nothing turns

  Positions rotary_tables(const AttentionSpec& spec);
  Positions rotary_tables(const std::optional<Rope>& rope);
  void select_keys(std::int64_t layer, MatrixView<const float> input);
  void enter(std::int64_t layer);
  void add_value_embedding(const ValueEmbedding& embedding, MatrixView<float> values);
  MatrixView<float> rows_of(std::size_t sequence, MatrixView<float> all) const;
  MatrixView<float> query_of(std::size_t sequence, std::int64_t head);
  MatrixView<float> head_of(Role role, std::int64_t layer, std::size_t sequence, std::int64_t head);
  void clip(std::int64_t layer, MatrixView<float> head) const;
  void finish_head(std::int64_t layer, const OptionalNorm& norm, std::int64_t head,
                   const RotaryTable* table, MatrixView<float> values, const Compute& alone) const;
  void norm_all_heads(std::int64_t layer);
  void finish_keys_and_values(std::int64_t layer, const Positions& tables);
  MatrixView<float> keys_and_values(std::int64_t layer);
  void attend_all(std::int64_t layer);
  void add_cross_attention(std::int64_t layer, bool maps_only, MatrixView<const float> given);
  void make_cross_attention(std::int64_t layer);
  void attend_cross_heads(std::int64_t layer, MatrixView<const float> made);
  LayerMaps make_room_for_maps(std::int64_t layer, const std::vector<std::int64_t>& keys);
  /// From a layer's normed input to context_, which its output projection reads.
  void mix_tokens(std::int64_t layer, MatrixView<const float> input);
  void mlp(std::int64_t layer, MatrixView<const float> input, MatrixView<float> out, bool add);
  /// What the output projection makes of context_.
  void add_attention(std::int64_t layer);
  void add_mlp(std::int64_t layer, MatrixView<const float> input);
  void add_convolution(const ConvolutionWeights& convolution);
  void show_input(std::int64_t layer, Role role, MatrixView<const float> input) const;
  void add_to_stream(const Matrix<float>& change, double factor);

  const ModelSpec& spec_;
  const ForwardWeights& weights_;
  std::span<const TokenIds> sequences_;
  const SequenceRows& rows_;
  Matrix<float>& states_;
  const ForwardObserver& observer_;
  const Compute& compute_;
  std::span<KeyValueCache> caches_;
  const EncoderOutput* encoder_output_;

  ExpertRun experts_;
  Matrix<float> normed_, change_, qkv_, context_, wide_;
  Matrix<float> cross_keys_and_values_;  // keys and values of the memory
  MlaAttention mla_;
  MixerRun mixers_;
  PerLayerInput own_inputs_;
  HeadShape heads_;  // of the layer under way
  std::map<std::int64_t, Matrix<float>>
      kept_;                 // keys, then values, of layers that later ones share
  Matrix<float> embedding_;  // what entered layer 0, where layers ask for it
  std::map<std::int64_t, Matrix<float>> skipped_;  // outputs of layers that later ones take up
  std::vector<Matrix<float>> maps_;                // of one layer
  struct KnownTable {
    Rope rope;
    std::int64_t head_dim;
    std::int64_t first, tokens;  // position of its first row, and of the whole text
    RotaryTable table;
  };
  std::deque<KnownTable> tables_;
  std::optional<RotaryTable> patch_table_;  // of every image: all layers turn alike
  std::mutex scratch_mutex_;
  std::vector<std::unique_ptr<Scratch>> scratch_;  // that no thread uses
  ScoreBiases biases_;
  KeySelection selection_;
};

}  // namespace attnscope
