#include "attnscope/forward/conformer.h"

#include <cmath>
#include <string>

#include "attnscope/forward/layer_run.h"
#include "attnscope/model/tensor_names.h"
#include "attnscope/numerics/inference/activations.h"

namespace attnscope {
namespace {

/// Reads a convolution (outputs, inputs, 1) of single rows, or one channel's taps (D, 1, kernel).
SharedLinear read_rows(const TensorReader& reader, const std::string& name, const Shape& shape,
                       std::int64_t layer) {
  const CheckpointTensor& tensor = reader.need(reader.model().find(name, shape), layer);
  return reader.make_linear({reader.rows_of(tensor)}, reader.bias_of(name, shape.front()),
                            /*copied=*/false);
}

/// Computes out = a sigmoid(b), where a and b are the halves of each row.
void gate_halves(MatrixView<const float> halves, MatrixView<float> out) {
  for (std::int64_t row = 0; row < out.rows; ++row) {
    for (std::int64_t col = 0; col < out.cols; ++col) {
      out(row, col) = halves(row, col) / (1 + std::exp(-halves(row, out.cols + col)));
    }
  }
}

/// Mixes the last rows of each channel of one sequence. Rows before the first are 0.
void convolve(const Matrix<float>& taps, MatrixView<const float> rows, MatrixView<float> out) {
  const std::int64_t kernel = taps.cols();
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    for (std::int64_t col = 0; col < rows.cols; ++col) {
      float sum = 0;
      for (std::int64_t tap = std::max<std::int64_t>(kernel - 1 - row, 0); tap < kernel; ++tap) {
        sum += taps(col, tap) * rows(row + tap - (kernel - 1), col);
      }
      out(row, col) = sum;
    }
  }
}

}  // namespace

ConformerWeights read_conformer(const TensorReader& reader, const ConformerSpec& spec,
                                std::int64_t layer) {
  const Model& model = reader.model();
  const Dimensions& dimensions = model.dimensions();
  const std::int64_t width = dimensions.width;
  const auto named = [&](const std::string& pattern) {
    return model.prefix() + fill_pattern(pattern, layer_numbers(dimensions, layer));
  };
  const ConformerRule& rule = spec.rule;
  const CheckpointTensor& taps =
      reader.need(model.find(named(rule.taps), Shape{width, 1, spec.kernel}), layer);
  return {.first_norm = reader.norm(spec.first_norm, layer, width),
          .norm = reader.norm(spec.norm, layer, width),
          .inner_norm = reader.norm(spec.inner_norm, layer, width),
          .first_up = reader.linear(named(rule.first_up), dimensions.mlp_width, width),
          .first_down = reader.linear(named(rule.first_down), width, dimensions.mlp_width),
          .expand = read_rows(reader, named(rule.expand), {2 * width, width, 1}, layer),
          .project = read_rows(reader, named(rule.project), {width, width, 1}, layer),
          .taps = reader.rows_of_width(taps, spec.kernel)};
}

void add_first_mlp(const ConformerWeights& weights, const ConformerSpec& spec,
                   Activation activation, MatrixView<float> stream, const Compute& compute) {
  Matrix<float> change(stream.rows, stream.cols);
  Matrix<float> wide(stream.rows, weights.first_up->weights.outputs());
  apply_norm(*weights.first_norm, stream, change.view(), compute);
  apply(*weights.first_up, change.view(), {.activation = activation}, wide.view(), compute);
  apply(*weights.first_down, wide.view(), {}, change.view(), compute);
  const auto factor = static_cast<float>(spec.rule.mlp_factor);
  for (std::int64_t row = 0; row < stream.rows; ++row) {
    for (std::int64_t col = 0; col < stream.cols; ++col) {
      stream(row, col) += factor * change(row, col);
    }
  }
}

void add_convolution_module(const ConformerWeights& weights, Activation activation,
                            const SequenceRows& rows, MatrixView<float> stream,
                            const Compute& compute) {
  Matrix<float> inner(stream.rows, stream.cols), mixed(stream.rows, stream.cols);
  Matrix<float> halves(stream.rows, 2 * stream.cols);
  apply_norm(*weights.norm, stream, inner.view(), compute);
  apply(*weights.expand, inner.view(), {}, halves.view(), compute);
  gate_halves(halves.view(), inner.view());
  for (std::size_t at = 0; at < rows.first.size(); ++at) {
    convolve(weights.taps, inner.view().row_block(rows.first[at], rows.length[at]),
             mixed.view().row_block(rows.first[at], rows.length[at]));
  }
  apply_norm(*weights.inner_norm, mixed.view(), mixed.view(), compute);
  activate(activation, mixed.view(), compute);
  apply(*weights.project, mixed.view(), {.add = stream}, stream, compute);
}

}  // namespace attnscope
