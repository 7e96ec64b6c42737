#include "attnscope/interventions/head_outputs.h"

#include <cmath>

#include "attnscope/base/role.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/interventions/linear_unembedding.h"

namespace attnscope {
namespace {

/// Operations between the output projection and the residual stream. They are linear with the
/// scales of the norm frozen.
class BranchEnd {
 public:
  BranchEnd(const ForwardPass& pass, std::int64_t layer, MatrixView<const float> heads, bool across,
            const Compute& compute) {
    if (across) return;
    const auto at = static_cast<std::size_t>(layer);
    const LayerWeights& weights = pass.weights().layers[at];
    factor_ = pass.model().spec().layers[at].branch_factor;
    const std::vector<float>& factors = weights.attention_factors;
    columns_.assign(factors.begin(), factors.end());
    if (!weights.attention_output) return;
    const NormWeights& norm = *weights.attention_output;
    centers_ = norm.spec.kind == NormKind::layer;
    const std::vector<double> gains = gains_of(norm);
    if (columns_.empty()) columns_.assign(gains.empty() ? 0 : gains.size(), 1.0);
    for (std::size_t col = 0; col < gains.size(); ++col) columns_[col] *= gains[col];
    Matrix<float> given(heads.rows, weights.output->weights.outputs());
    apply(*weights.output, heads, {}, given.view(), compute);
    for (std::int64_t row = 0; row < given.rows(); ++row) {
      const std::span values(&given(row, 0), static_cast<std::size_t>(given.cols()));
      scales_.push_back(normed_row(norm.spec, values).scale);
    }
  }

  double norm_of(std::int64_t row, std::span<const float> output) const {
    double mean = 0;
    if (centers_) {
      for (const float value : output) mean += static_cast<double>(value);
      mean /= static_cast<double>(output.size());
    }
    double squares = 0;
    for (std::size_t col = 0; col < output.size(); ++col) {
      const double value =
          (static_cast<double>(output[col]) - mean) * (columns_.empty() ? 1.0 : columns_[col]);
      squares += value * value;
    }
    const double scale = scales_.empty() ? 1.0 : scales_[static_cast<std::size_t>(row)];
    return std::fabs(factor_) * std::sqrt(squares) / scale;
  }

 private:
  double factor_ = 1;
  bool centers_ = false;
  std::vector<double> columns_, scales_;  // empty: 1
};

}  // namespace

std::vector<double> row_norms(MatrixView<const float> rows) {
  std::vector<double> out;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    out.push_back(std::sqrt(row_product(&rows(row, 0), &rows(row, 0), rows.cols)));
  }
  return out;
}

Matrix<double> head_output_norms(const ForwardPass& pass, std::int64_t layer,
                                 MatrixView<const float> heads, bool across,
                                 const Compute& compute) {
  const LayerWeights& weights = pass.weights().layers[static_cast<std::size_t>(layer)];
  const HeadShape& shape =
      across ? weights.cross->heads : pass.model().spec().dimensions_of(layer).heads;
  const TensorMatrix whole =
      across ? weights.cross->stored_output : pass.model().weight(layer, Role::output).matrix;
  Matrix<float> normed;
  if (!across && weights.attention_heads) {
    normed = copied(heads);
    apply_norm(*weights.attention_heads, heads, normed.view(), compute);
    heads = normed.view();
  }
  const BranchEnd end(pass, layer, heads, across, compute);
  Matrix<double> norms(shape.heads, heads.rows);
  Matrix<float> output(heads.rows, whole.rows);
  for (std::int64_t head = 0; head < shape.heads; ++head) {
    const std::int64_t first = head * shape.value_dim;
    TensorMatrix own = whole;
    own.first += first * own.col_stride;
    own.cols = shape.value_dim;
    apply_linear(heads.col_block(first, shape.value_dim),
                 LinearWeights({own}, /*packed=*/false, compute), {}, output.view(), compute);
    for (std::int64_t row = 0; row < heads.rows; ++row) {
      norms(head, row) =
          end.norm_of(row, {&output(row, 0), static_cast<std::size_t>(output.cols())});
    }
  }
  return norms;
}

}  // namespace attnscope
