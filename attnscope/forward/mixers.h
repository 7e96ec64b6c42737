// The layers of a pass that do not attend.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/weights/mixer_weights.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Holds what one pass needs between such layers.
class MixerRun {
 public:
  /// `caches`: none, or of each sequence. All must outlive this.
  MixerRun(const SequenceRows& rows, const Compute& compute, std::span<KeyValueCache> caches)
      : rows_(rows), compute_(compute), caches_(caches) {}

  /// From the layer's input (rows, D) to what its output projection reads. The caches get the
  /// layer's next states.
  void run(std::int64_t layer, const MixerWeights& weights, MatrixView<const float> input,
           MatrixView<float> out);

 private:
  /// The state of a sequence before and after this run: rows of a convolution, then a matrix of
  /// each head. No data where there is none before, or none to keep.
  struct States {
    MatrixView<const float> past_rows;
    MatrixView<float> next_rows;
    std::span<const float> past;
    std::span<float> next;
  };
  States states_of(std::int64_t layer, std::size_t sequence, const CausalConvolution& of) const;
  void run_delta_net(std::int64_t layer, const DeltaNetWeights& weights,
                     MatrixView<const float> input, MatrixView<float> out);
  void run_delta_head(std::int64_t layer, const DeltaNetWeights& weights, std::size_t sequence,
                      std::int64_t head, MatrixView<float> out);
  void run_short_convolution(std::int64_t layer, const ShortConvolutionWeights& weights,
                             MatrixView<const float> input, MatrixView<float> out);
  MatrixView<float> rows_of(std::size_t sequence, MatrixView<float> all) const {
    return all.row_block(rows_.first[sequence], rows_.length[sequence]);
  }

  const SequenceRows& rows_;
  const Compute& compute_;
  std::span<KeyValueCache> caches_;
  Matrix<float> projected_, convolved_;
};

// A convolution of each channel along the text, which sees no later token.

/// x and out: (tokens, channels), with contiguous rows, not the same memory. `past`: the kernel − 1
/// rows before x, or no data at the begin of a text.
void convolve(const CausalConvolution& convolution, MatrixView<const float> past,
              MatrixView<const float> x, MatrixView<float> out, const Compute& compute);

/// The kernel − 1 rows before those that will follow x. `past` as above; `next` may not be its
/// memory.
void keep_last_rows(MatrixView<const float> past, MatrixView<const float> x,
                    MatrixView<float> next);

}  // namespace attnscope
