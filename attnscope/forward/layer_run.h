// Execution of single layers on the residual stream of all sequences.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "attnscope/base/activation.h"
#include "attnscope/base/model_inputs.h"
#include "attnscope/forward/altup.h"
#include "attnscope/forward/experts.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/hooks.h"
#include "attnscope/forward/mixers.h"
#include "attnscope/forward/mla.h"
#include "attnscope/forward/position_bias.h"
#include "attnscope/forward/sparse_attention_indexer.h"
#include "attnscope/forward/weights/forward_weights.h"
#include "attnscope/numerics/inference/attention.h"
#include "attnscope/numerics/inference/linear.h"
#include "attnscope/numerics/inference/rotary.h"

namespace attnscope {

/// Per-layer input of Gemma 4, in addition to the residual stream. Reuses its memory between
/// layers.
class PerLayerInput {
 public:
  /// Returns the term that PerLayerInputRule adds to a stream, computed from `stream`. `embedding`:
  /// the input of layer 0. All are (rows, D) for all sequences. Valid until the next call.
  MatrixView<const float> term(const PerLayerInputWeights& weights, Activation activation,
                               std::span<const TokenIds> sequences,
                               MatrixView<const float> embedding, MatrixView<const float> stream,
                               const Compute& compute);

 private:
  Matrix<float> input_, narrow_, change_;
};

/// Returns which keys the queries of a layer attend to.
AttentionMask mask_of(const MaskSpec& spec);

/// Computes out = norm(x), (rows, n). `out` may be x itself.
void apply_norm(const NormWeights& norm, MatrixView<const float> x, MatrixView<float> out,
                const Compute& compute);

/// Computes out = x Wᵀ + bias, followed by `after`.
void apply(const LinearLayer& layer, MatrixView<const float> x, LinearEpilogue after,
           MatrixView<float> out, const Compute& compute);

/// Throws Error(numerical) if a state is NaN or infinite, and Error(io) if a file was changed
/// during the computation. `of`: name of the source of the states, for the message.
void check_states(const ForwardWeights& weights, MatrixView<const float> states,
                  const std::string& of);

/// State of one pass between its layers.
class LayerRun {
 public:
  /// `sequences`: empty if the states were prepared elsewhere. `states`: the residual stream (rows,
  /// D), which layers update. `caches`: empty, or one per sequence, to which keys and values are
  /// added. `encoder_output`: for a decoder whose caches do not have it yet; else null. All
  /// arguments must outlive this object.
  LayerRun(const ModelSpec& spec, const ForwardWeights& weights,
           std::span<const TokenIds> sequences, const SequenceRows& rows, Matrix<float>& states,
           const ForwardObserver& observer, const Compute& compute, std::span<KeyValueCache> caches,
           const EncoderOutput* encoder_output);

  /// Replaces AltUp's streams by their predictions for a layer, which must run next.
  void predict_streams(std::int64_t layer);

  /// Runs one layer. `maps_only`: stops after its attention maps, or with `ends_across` after those
  /// of its cross-attention. Passes the requested values to the observer. `start`: used by the
  /// first layer of a pass. Throws like check_states().
  void run_layer(std::int64_t layer, bool maps_only, bool ends_across = false,
                 const PassStart& start = {});

 private:
  /// Buffers of a thread for one head.
  struct Scratch {
    AttentionScratch attention;
    ScoreBiases::Scratch bias;
  };
  std::unique_ptr<Scratch> take_scratch();
  void give_back(std::unique_ptr<Scratch> scratch);

  using Positions = std::vector<const RotaryTable*>;  // one per sequence; empty: no rotation

  Positions rotary_tables(const AttentionSpec& spec);
  Positions rotary_tables(const std::optional<Rope>& rope);
  void select_keys(std::int64_t layer, MatrixView<const float> input);
  void enter(std::int64_t layer);
  void add_value_embedding(const ValueEmbedding& embedding, MatrixView<float> values);
  MatrixView<float> rows_of(std::size_t sequence, MatrixView<float> all) const;
  MatrixView<float> query_of(std::size_t sequence, std::int64_t head);
  MatrixView<float> head_of(Role role, std::int64_t layer, std::size_t sequence, std::int64_t head);
  void clip(std::int64_t layer, MatrixView<float> head) const;
  void norm_head(std::int64_t layer, const OptionalNorm& norm, std::int64_t head,
                 MatrixView<float> values, const Compute& alone) const;
  void rotate_head(std::int64_t layer, const RotaryTable* table, MatrixView<float> values,
                   const Compute& alone) const;
  void finish_head(std::int64_t layer, const OptionalNorm& norm, std::int64_t head,
                   const RotaryTable* table, MatrixView<float> values, const Compute& alone) const;
  void norm_all_heads(std::int64_t layer);
  void finish_keys_and_values(std::int64_t layer, const Positions& tables);
  /// Finishes all heads of queries or keys step by step if a hook wants a step. Returns whether.
  bool finish_in_steps(std::int64_t layer, Role role, const Positions& tables);
  /// Turns the scores in maps_ into weights and outputs, in context_, and shows both to hooks.
  /// `values_of` returns the values (keys, d_v) of a sequence and key/value head.
  using ValuesOf = std::function<Matrix<float>(std::size_t sequence, std::int64_t kv_head)>;
  void attend_to_scores(std::int64_t layer, const LayerMaps& maps, HookPoint scores,
                        HookPoint weights, std::span<const float> sinks, const ValuesOf& values_of);
  void show_maps(HookPoint point, std::int64_t layer, const LayerMaps& maps);
  void show_projections(std::int64_t layer);
  /// Shows each head's output z W_O to hooks. Keeps in result_change_ by how much they changed the
  /// sum; no rows: not at all. `read`: input of the output projection.
  void show_results(HookPoint point, std::int64_t layer, const LinearLayer& output,
                    MatrixView<const float> read);
  MatrixView<float> keys_and_values(std::int64_t layer);
  void attend_all(std::int64_t layer, MatrixView<const float> input);
  const std::vector<PatchWindow>& windows_of(const PatchWindowSpec& spec);
  void attend_windows(std::int64_t layer, MatrixView<const float> input);
  void merge_patches(const PatchMergingWeights& merging);
  void add_cross_attention(std::int64_t layer, bool maps_only, MatrixView<const float> given);
  void make_cross_attention(std::int64_t layer);
  void attend_cross_heads(std::int64_t layer, MatrixView<const float> made);
  LayerMaps make_room_for_maps(std::int64_t layer, const std::vector<std::int64_t>& keys);
  /// Computes context_, the input of the output projection, from a layer's normalized input.
  void run_attention(std::int64_t layer, MatrixView<const float> input);
  /// Computes mixer_context_, the input of the mixer's output projection.
  void mix_tokens(std::int64_t layer, MatrixView<const float> input);
  void add_mixer(std::int64_t layer, double branch_factor);
  /// Returns the residual stream concatenated with the embedding, normalized: the input of a block.
  MatrixView<const float> block_input(const LayerWeights& weights);
  /// Returns the input of the mixer after a block, from the head outputs in context_.
  MatrixView<const float> mixer_input(std::int64_t layer);
  void add_adapters(const SharedBlockWeights& block, MatrixView<const float> input,
                    MatrixView<float> qkv);
  /// Returns the rows rounded to 8 bits if the layer rounds its inputs, else the rows themselves.
  MatrixView<const float> as_read(std::int64_t layer, MatrixView<const float> rows);
  void scale_stream(double factor);
  void mlp(std::int64_t layer, MatrixView<const float> input, MatrixView<float> out, bool add);
  /// Adds the output projection of context_ to the residual stream.
  void add_attention(std::int64_t layer);
  void add_mlp(std::int64_t layer, MatrixView<const float> input);
  void add_own_input(std::int64_t layer);
  void add_convolution(const ConvolutionWeights& convolution);
  void show_input(std::int64_t layer, Role role, MatrixView<const float> input) const;
  void add_to_stream(const Matrix<float>& change, double factor);
  /// Adds change_ times a factor to the residual stream. The hooks of `point` see the product.
  void add_change(HookPoint point, std::int64_t layer, double factor);

  const ModelSpec& spec_;
  const ForwardWeights& weights_;
  std::span<const TokenIds> sequences_;
  SequenceRows rows_;  // of the current layer
  Matrix<float>& states_;
  const ForwardObserver& observer_;
  const Compute& compute_;
  std::span<KeyValueCache> caches_;
  const EncoderOutput* encoder_output_;
  HookCalls hooks_;

  ExpertRun experts_;
  Matrix<float> normed_, change_, qkv_, context_, wide_, gates_;
  Matrix<float> mixer_context_, scaled_, rounded_;
  Matrix<float> result_change_;                    // see show_results()
  Matrix<float> joined_, latents_, block_output_;  // of a block before the mixer
  Matrix<float> cross_keys_and_values_;            // keys and values of the encoder output
  MlaAttention mla_;
  MixerRun mixers_;
  PerLayerInput own_inputs_;
  AltUpStreams altup_;
  HeadShape heads_;                                // of the current layer
  std::map<std::int64_t, Matrix<float>> kept_;     // keys, then values, that later layers share
  Matrix<float> embedding_;                        // input of layer 0, if layers need it
  std::map<std::int64_t, Matrix<float>> skipped_;  // outputs used by skip connections
  std::vector<Matrix<float>> maps_;                // maps of one layer
  struct KnownTable {
    Rope rope;
    std::int64_t head_dim;
    std::int64_t first, tokens;  // position of its first row; tokens of the whole text
    RotaryTable table;
  };
  std::deque<KnownTable> tables_;
  std::optional<RotaryTable> patch_table_;  // for every image: all layers rotate alike
  struct KnownWindows {
    PatchGrid grid;
    PatchWindowSpec spec;
    std::vector<PatchWindow> windows;
  };
  std::deque<KnownWindows> windows_;
  Matrix<float> window_qkv_, window_context_;  // with the rows of windows
  std::mutex scratch_mutex_;
  std::vector<std::unique_ptr<Scratch>> scratch_;  // not used by any thread
  ScoreBiases biases_;
  KeySelection selection_;
};

}  // namespace attnscope
