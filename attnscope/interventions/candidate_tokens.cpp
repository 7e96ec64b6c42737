#include "attnscope/interventions/candidate_tokens.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attnscope/forward/matrix_buffers.h"

namespace attnscope {
namespace {

const char* kTransforms = "its LM head transforms the residual stream before the unembedding";

/// Returns stream + MLP_0(stream): the output of layer 0 without its attention.
Matrix<float> after_mlp(const ForwardPass& pass, const TokenIds& ids, const Matrix<float>& stream,
                        const Compute& compute) {
  Matrix<float> out;
  ForwardObserver observer;
  observer.on_stream = [&](std::int64_t index, MatrixView<const float> after) {
    if (index == 1) out = copied(after);
  };
  observer.end_after_layer = 0;
  pass.run_from({.layer = 0, .stream = stream.view(), .attends = false}, std::span(&ids, 1),
                observer, compute);
  return out;
}

}  // namespace

void norm_without_gain(const NormSpec& norm, Matrix<float>& rows) {
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    const std::span<float> values(&rows(row, 0), static_cast<std::size_t>(rows.cols()));
    const auto [mean, scale] = normed_row(norm, values);
    const double factor = 1 / scale;
    for (float& value : values) {
      value = static_cast<float>((static_cast<double>(value) - mean) * factor);
    }
  }
}

std::string obstacle_to(const ForwardPass& pass, TokenBasis basis) {
  const ForwardWeights& weights = pass.weights();
  const auto& altup = pass.model().spec().stream.altup;
  if (altup && (basis != TokenBasis::write || altup->active != 0)) {
    return "its layers combine several residual streams";
  }
  if (basis == TokenBasis::write) {
    if (!weights.head) return pass.no_logits();
    const bool plain =
        weights.head->dense == nullptr && !weights.head->norm && weights.last_projection == nullptr;
    return plain ? "" : kTransforms;
  }
  if (basis != TokenBasis::mlp0) return "";
  if (!pass.may_start_between()) return "its layers have inputs other than the residual stream";
  const LayerWeights& first = weights.layers.front();
  if (first.mixer != nullptr || first.output == nullptr) return "its first layer has no attention";
  return "";
}

TokenRows::TokenRows(const ForwardPass& pass)
    : pass_(pass), place_(pass.mean_position_embedding()) {
  const OptionalNorm& norm = pass.weights().last_norm;
  if (!norm) return;
  const std::vector<double> gains = gains_of(*norm);
  gains_.assign(gains.begin(), gains.end());
}

Matrix<float> TokenRows::written(const TokenIds& ids) const {
  const RowTable& table = pass_.weights().head->rows;
  const OptionalNorm& norm = pass_.weights().last_norm;
  const bool centered = norm && norm->spec.kind == NormKind::layer;
  Matrix<float> out(std::ssize(ids), table.cols);
  for (std::int64_t row = 0; row < out.rows(); ++row) {
    const std::span<float> values(&out(row, 0), static_cast<std::size_t>(out.cols()));
    table.read(ids[static_cast<std::size_t>(row)], values);
    for (std::size_t col = 0; col < gains_.size(); ++col) values[col] *= gains_[col];
    if (!centered) continue;
    const auto mean = static_cast<float>(normed_row(norm->spec, values).mean);
    for (float& value : values) value -= mean;
  }
  return out;
}

Matrix<float> TokenRows::of(TokenBasis basis, const TokenIds& ids, const Compute& compute) const {
  if (basis == TokenBasis::write) return written(ids);
  const std::span<const float> place =
      basis == TokenBasis::word ? std::span<const float>() : place_;
  Matrix<float> rows = pass_.embed_alone(ids, place, compute);
  if (basis == TokenBasis::mlp0) rows = after_mlp(pass_, ids, rows, compute);
  const OptionalNorm& norm = pass_.weights().layers.front().attention_input;
  if (norm) norm_without_gain(norm->spec, rows);
  return rows;
}

}  // namespace attnscope
