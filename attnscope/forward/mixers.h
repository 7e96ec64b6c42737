// Mixers of a pass: Gated DeltaNet, Kimi Delta Attention, RG-LRU, Mamba, Mamba-2, lightning
// attention and short convolutions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/weights/mixer_weights.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// State of one pass between its mixers.
class MixerRun {
 public:
  /// `caches`: empty, or one per sequence. All arguments must outlive this object.
  MixerRun(const SequenceRows& rows, const Compute& compute, std::span<KeyValueCache> caches)
      : rows_(rows), compute_(compute), caches_(caches) {}

  /// Computes the input of the output projection from the layer's input (rows, D). Stores the
  /// layer's next states in the caches.
  void run(std::int64_t layer, const MixerWeights& weights, MatrixView<const float> input,
           MatrixView<float> out);

 private:
  /// State of a sequence before and after this run: rows of a convolution, then one matrix per
  /// head. No data if there is no earlier state, or none to keep.
  struct States {
    MatrixView<const float> past_rows;
    MatrixView<float> next_rows;
    std::span<const float> past;
    std::span<float> next;
  };
  States states_of(std::int64_t layer, std::size_t sequence, const CausalConvolution& of) const;
  /// Returns `size` numbers of the next state from `first` on, with the values of the past one (0
  /// without one). If no state is kept, they are in `own`.
  static float* started_state(const States& states, std::int64_t first, std::int64_t size,
                              std::vector<float>& own);
  /// Convolves rows of all sequences, and keeps the last ones for the next run.
  void convolve_all(std::int64_t layer, const CausalConvolution& convolution,
                    MatrixView<float> input, MatrixView<float> out);
  void run_delta_net(std::int64_t layer, const DeltaNetWeights& weights,
                     MatrixView<const float> input, MatrixView<float> out);
  void run_delta_head(std::int64_t layer, const DeltaNetWeights& weights, std::size_t sequence,
                      std::int64_t head, MatrixView<float> out);
  void run_short_convolution(std::int64_t layer, const ShortConvolutionWeights& weights,
                             MatrixView<const float> input, MatrixView<float> out);
  void run_kimi_delta(std::int64_t layer, const KimiDeltaWeights& weights,
                      MatrixView<const float> input, MatrixView<float> out);
  void run_kimi_head(std::int64_t layer, const KimiDeltaWeights& weights, std::size_t sequence,
                     std::int64_t head, MatrixView<float> out);
  void run_rg_lru(std::int64_t layer, const RgLruWeights& weights, MatrixView<const float> input,
                  MatrixView<float> out);
  void run_mamba(std::int64_t layer, const MambaWeights& weights, MatrixView<const float> input,
                 MatrixView<float> out);
  void scan_channels(std::int64_t layer, const MambaWeights& weights, std::size_t sequence,
                     std::int64_t first, MatrixView<float> out);
  void run_mamba2(std::int64_t layer, const Mamba2Weights& weights, MatrixView<const float> input,
                  MatrixView<float> out);
  void run_mamba2_head(std::int64_t layer, const Mamba2Weights& weights, std::size_t sequence,
                       std::int64_t head, MatrixView<float> out);
  void run_lightning(std::int64_t layer, const LightningWeights& weights,
                     MatrixView<const float> input, MatrixView<float> out);
  MatrixView<float> rows_of(std::size_t sequence, MatrixView<float> all) const {
    return all.row_block(rows_.first[sequence], rows_.length[sequence]);
  }

  const SequenceRows& rows_;
  const Compute& compute_;
  std::span<KeyValueCache> caches_;
  Matrix<float> projected_, convolved_, decays_, gates_, steps_, parameters_, scaled_;
};

/// Multiplies the rows by silu(gate), which replaces the gate.
void apply_silu_gate(MatrixView<float> gate, MatrixView<float> rows, const Compute& compute);

// Causal depthwise convolution along the text.

/// Convolves x into `out`: both (tokens, channels), with contiguous rows, in separate memory.
/// `past`: the kernel − 1 rows before x, or no data at the start of a text.
void convolve(const CausalConvolution& convolution, MatrixView<const float> past,
              MatrixView<const float> x, MatrixView<float> out, const Compute& compute);

/// Stores the last kernel − 1 rows, which precede the rows after x, in `next`. `past`: as in
/// convolve(); must not alias `next`.
void keep_last_rows(MatrixView<const float> past, MatrixView<const float> x,
                    MatrixView<float> next);

}  // namespace attnscope
