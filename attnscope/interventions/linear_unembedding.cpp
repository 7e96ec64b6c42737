#include "attnscope/interventions/linear_unembedding.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/numerics/vector_loops.h"

namespace attnscope {

namespace {

/// Returns the divisor of a norm for each row.
std::vector<double> row_scales(const NormSpec& norm, MatrixView<const float> rows) {
  std::vector<double> out;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    out.push_back(
        normed_row(norm, std::span(&rows(row, 0), static_cast<std::size_t>(rows.cols))).scale);
  }
  return out;
}

}  // namespace

double row_product(const float* a, const float* b, std::int64_t size) {
  return sum_over(static_cast<std::size_t>(size), [&](std::size_t at) {
    return static_cast<double>(a[at]) * static_cast<double>(b[at]);
  });
}

namespace {

/// Returns why the head's input is not a sum of component outputs. Empty if it is.
std::string stream_obstacle(const ForwardPass& pass) {
  const ForwardWeights& weights = pass.weights();
  if (weights.last_projection != nullptr)
    return "its LM head reads a projection of the residual stream";
  if (!weights.last_norm)
    return "its layers normalize the residual stream, so it is not a sum of component outputs";
  if (!pass.may_start_between(/*remembers=*/true)) {
    return "its layers have inputs other than the residual stream";
  }
  for (const LayerWeights& layer : weights.layers) {
    if (layer.mixer != nullptr) return "the outputs of its mixers are not attributed";
    if (layer.attention_sum || layer.mlp_sum || (layer.cross && layer.cross->sum)) {
      return "its layers normalize the residual stream, so it is not a sum of component outputs";
    }
    if (layer.attention_heads) return "its head outputs pass through a norm before W_O";
    for (const OptionalNorm& norm : {layer.attention_output, layer.mlp_output}) {
      if (norm && !norm->bias.empty())
        return "its attention or MLP outputs pass through norms with biases";
    }
    if (!layer.attention_factors.empty() || !layer.mlp_factors.empty()) {
      return "its attention or MLP outputs are scaled per dimension";
    }
    if (layer.output_factor != 1) return "its layers scale the residual stream";
  }
  const auto replaces = [](const LayerSpec& layer) { return layer.norms_replace_stream; };
  const auto& layers = pass.model().spec().layers;
  if (std::any_of(layers.begin(), layers.end(), replaces)) {
    return "its layers normalize the residual stream, so it is not a sum of component outputs";
  }
  return "";
}

/// The rows of W_U, or those of the labels of a classifier.
const RowTable& rows_of_head(const ForwardPass& pass) {
  const ForwardWeights& weights = pass.weights();
  return weights.labels ? weights.labels->rows : weights.head->rows;
}

/// The factor of the logits. Labels have none.
double factor_of_head(const ForwardPass& pass) {
  return pass.weights().labels ? 1.0 : pass.model().spec().head.factor;
}

}  // namespace

std::string LinearHead::obstacle(const ForwardPass& pass) {
  const ForwardWeights& weights = pass.weights();
  if (!weights.head) return pass.no_logits();
  if (weights.head->dense != nullptr || weights.head->norm) {
    return "its LM head transforms the residual stream before the unembedding";
  }
  return stream_obstacle(pass);
}

std::string LinearHead::label_obstacle(const ForwardPass& pass) {
  const LabelHeadWeights& head = pass.label_head();
  if (head.dense != nullptr || head.norm) {
    return "its head transforms the residual stream before the classifier";
  }
  if (head.pooling == LabelPooling::mean) return "its head reads the mean of all positions";
  return stream_obstacle(pass);
}

bool LinearHead::norms_branches(const ForwardPass& pass) {
  const auto& layers = pass.weights().layers;
  return std::any_of(layers.begin(), layers.end(), [](const LayerWeights& layer) {
    return layer.attention_output || layer.mlp_output;
  });
}

std::vector<double> mean_output_row(const ForwardPass& pass, const Compute& compute) {
  const std::int64_t outputs =
      pass.predicts_labels() ? rows_of_head(pass).rows : pass.logits_width();
  // A single label has no others to compare with.
  if (outputs == 1) return std::vector<double>(static_cast<std::size_t>(rows_of_head(pass).cols));
  std::vector<std::int64_t> all(static_cast<std::size_t>(outputs));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  compute.check_stop();
  return mean_output_row(pass, all);
}

std::vector<double> mean_output_row(const ForwardPass& pass, std::span<const std::int64_t> tokens) {
  const RowTable& rows = rows_of_head(pass);
  std::vector<double> mean(static_cast<std::size_t>(rows.cols), 0.0);
  std::vector<float> row(mean.size());
  for (const std::int64_t token : tokens) {
    rows.read(token, row);
    for (std::size_t col = 0; col < row.size(); ++col) mean[col] += static_cast<double>(row[col]);
  }
  rows.check_intact();
  for (double& value : mean) value /= static_cast<double>(tokens.size());
  return mean;
}

LinearHead::LinearHead(const ForwardPass& pass, std::vector<double> from)
    : pass_(pass), from_(std::move(from)), gain_(from_.size(), 1.0) {
  const NormWeights& norm = *pass.weights().last_norm;
  centered_ = norm.spec.kind == NormKind::layer;
  if (!norm.gain.empty()) gain_ = gains_of(norm);
}

Matrix<float> LinearHead::directions(std::span<const std::int64_t> tokens) const {
  const double factor = factor_of_head(pass_);
  Matrix<float> out(std::ssize(tokens), std::ssize(from_));
  std::vector<float> row(from_.size());
  std::vector<double> direction(from_.size());
  for (std::int64_t at = 0; at < out.rows(); ++at) {
    const std::int64_t token = tokens[static_cast<std::size_t>(at)];
    if (token < 0) {
      std::fill_n(&out(at, 0), out.cols(), 0.0F);
      continue;
    }
    rows_of_head(pass_).read(token, row);
    double sum = 0;
    for (std::size_t col = 0; col < row.size(); ++col) {
      direction[col] = factor * gain_[col] * (static_cast<double>(row[col]) - from_[col]);
      sum += direction[col];
    }
    const double mean = centered_ ? sum / static_cast<double>(row.size()) : 0.0;
    for (std::size_t col = 0; col < row.size(); ++col) {
      out(at, static_cast<std::int64_t>(col)) = static_cast<float>(direction[col] - mean);
    }
  }
  return out;
}

double LinearHead::constant(std::int64_t token) const {
  const std::vector<float>& bias = pass_.weights().last_norm->bias;
  if (bias.empty() || token < 0) return 0;
  std::vector<float> row(from_.size());
  rows_of_head(pass_).read(token, row);
  double sum = 0;
  for (std::size_t col = 0; col < row.size(); ++col) {
    sum += static_cast<double>(bias[col]) * (static_cast<double>(row[col]) - from_[col]);
  }
  return factor_of_head(pass_) * sum;
}

std::vector<double> LinearHead::scales(MatrixView<const float> stream) const {
  return row_scales(pass_.weights().last_norm->spec, stream);
}

Matrix<float> through_norm(const OptionalNorm& norm, MatrixView<const float> given,
                           MatrixView<const float> directions) {
  Matrix<float> out = copied(directions);
  if (!norm) return out;
  const std::vector<double> gains = gains_of(*norm), scales = row_scales(norm->spec, given);
  std::vector<double> row(static_cast<std::size_t>(out.cols()));
  for (std::int64_t at = 0; at < out.rows(); ++at) {
    double sum = 0;
    for (std::size_t col = 0; col < row.size(); ++col) {
      const auto value = static_cast<double>(out(at, static_cast<std::int64_t>(col)));
      row[col] = (gains.empty() ? 1.0 : gains[col]) * value / scales[static_cast<std::size_t>(at)];
      sum += row[col];
    }
    const double mean =
        norm->spec.kind == NormKind::layer ? sum / static_cast<double>(row.size()) : 0.0;
    for (std::size_t col = 0; col < row.size(); ++col) {
      out(at, static_cast<std::int64_t>(col)) = static_cast<float>(row[col] - mean);
    }
  }
  return out;
}

Matrix<float> LinearHead::through_output(std::int64_t layer, MatrixView<const float> directions,
                                         const Compute& compute, bool across) const {
  TensorMatrix matrix =
      across ? pass_.weights().layers[static_cast<std::size_t>(layer)].cross->stored_output
             : pass_.model().weight(layer, Role::output).matrix;
  std::swap(matrix.rows, matrix.cols);
  std::swap(matrix.row_stride, matrix.col_stride);
  matrix.block_rows = matrix.rows;
  const LinearWeights transposed({matrix}, /*packed=*/false, compute);
  Matrix<float> out(directions.rows, transposed.outputs());
  apply_linear(directions, transposed, {}, out.view(), compute);
  const LayerSpec& spec = pass_.model().spec().layers[static_cast<std::size_t>(layer)];
  if (spec.branch_factor != 1) {
    const auto factor = static_cast<float>(spec.branch_factor);
    for (std::int64_t at = 0; at < out.rows() * out.cols(); ++at) out.data()[at] *= factor;
  }
  return out;
}

}  // namespace attnscope
