#include "attnscope/forward/per_layer_input.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"

namespace attnscope {

void PerLayerInput::add(const PerLayerInputWeights& weights, Activation activation,
                        std::span<const TokenIds> sequences, MatrixView<const float> embedding,
                        MatrixView<float> stream, const Compute& compute) {
  const MatrixView<float> input = sized(input_, stream.rows, weights.width);
  apply(*weights.projection, embedding, {}, input, compute);
  apply_norm(*weights.projection_norm, input, input, compute);
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(weights.width)));
  constexpr float kShare = 1 / std::numbers::sqrt2_v<float>;
  std::vector<float> of_token(static_cast<std::size_t>(weights.width));
  std::int64_t row = 0;
  for (const TokenIds& ids : sequences) {
    for (const std::int64_t id : ids) {
      weights.table.read(id, of_token);
      for (std::int64_t col = 0; col < weights.width; ++col) {
        float& value = input(row, col);
        value = (value + root * of_token[static_cast<std::size_t>(col)]) * kShare;
      }
      ++row;
    }
  }
  weights.table.check_intact();

  const MatrixView<float> narrow = sized(narrow_, stream.rows, weights.width);
  apply(*weights.gate, stream, {.activation = activation, .multiply = input}, narrow, compute);
  const MatrixView<float> change = sized(change_, stream.rows, stream.cols);
  apply(*weights.up, narrow, {}, change, compute);
  apply_norm(*weights.norm, change, change, compute);
  for (row = 0; row < stream.rows; ++row) {
    for (std::int64_t col = 0; col < stream.cols; ++col) stream(row, col) += change(row, col);
  }
}

}  // namespace attnscope
