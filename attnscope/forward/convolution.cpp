// What DeBERTa's first layer adds to its output.
#include "attnscope/forward/layer_run.h"

namespace attnscope {

/// Beyond the ends of a text, the embedding is 0.
void LayerRun::add_convolution(const ConvolutionWeights& convolution) {
  const std::int64_t kernel = convolution.kernel, width = embedding_.cols();
  Matrix<float> places(rows_.total, width * kernel);
  for (std::size_t sequence = 0; sequence < rows_.first.size(); ++sequence) {
    const MatrixView<float> text = rows_of(sequence, embedding_.view());
    const MatrixView<float> out = rows_of(sequence, places.view());
    for (std::int64_t token = 0; token < text.rows; ++token) {
      for (std::int64_t tap = 0; tap < kernel; ++tap) {
        const std::int64_t from = token + tap - kernel / 2;
        const bool inside = from >= 0 && from < text.rows;
        for (std::int64_t col = 0; col < width; ++col) {
          out(token, col * kernel + tap) = inside ? text(from, col) : 0;
        }
      }
    }
  }
  const MatrixView<float> stream = states_.view();
  apply(*convolution.taps, places.view(), {.activation = convolution.activation, .add = stream},
        stream, compute_);
  apply_norm(*convolution.norm, stream, stream, compute_);
}

}  // namespace attnscope
