#include "attnscope/forward/token_bases.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attnscope/forward/sized.h"

namespace attnscope {
namespace {

const char* kTransforms = "its output head transforms the stream before it reads it";

Matrix<float> written_rows(const ForwardPass& pass, const TokenIds& ids) {
  const RowTable& table = pass.weights().head->rows;
  const OptionalNorm& norm = pass.weights().last_norm;
  const bool centred = norm && norm->spec.kind == NormKind::layer;
  const std::vector<double> gains = norm ? gains_of(*norm) : std::vector<double>{};
  Matrix<float> out(std::ssize(ids), table.cols);
  for (std::int64_t row = 0; row < out.rows(); ++row) {
    float* values = &out(row, 0);
    table.read(ids[static_cast<std::size_t>(row)], {values, static_cast<std::size_t>(out.cols())});
    double sum = 0;
    for (std::int64_t col = 0; col < out.cols(); ++col) {
      if (!gains.empty()) values[col] *= static_cast<float>(gains[static_cast<std::size_t>(col)]);
      sum += static_cast<double>(values[col]);
    }
    if (!centred) continue;
    const auto mean = static_cast<float>(sum / static_cast<double>(out.cols()));
    for (std::int64_t col = 0; col < out.cols(); ++col) values[col] -= mean;
  }
  return out;
}

/// stream + MLP_0(stream): layer 0 whose heads give nothing, with the output projection's bias
/// taken off again.
Matrix<float> after_mlp(const ForwardPass& pass, const TokenIds& ids, Matrix<float> stream,
                        const Compute& compute) {
  const LayerWeights& layer = pass.weights().layers.front();
  const LayerSpec& spec = pass.model().spec().layers.front();
  const std::vector<float>& bias = layer.output->bias;
  const auto factor = static_cast<float>(spec.branch_factor);
  const auto take_off = [&](Matrix<float>& rows) {
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
      for (std::size_t col = 0; col < bias.size(); ++col) {
        rows(row, static_cast<std::int64_t>(col)) -= factor * bias[col];
      }
    }
  };
  if (!spec.parallel) take_off(stream);
  const HeadShape& shape = pass.model().spec().dimensions_of(0).heads;
  Matrix<float> heads(stream.rows(), shape.heads * shape.value_dim);
  std::fill_n(heads.data(), heads.rows() * heads.cols(), 0.0F);
  Matrix<float> out;
  ForwardObserver observer;
  observer.on_stream = [&](std::int64_t index, MatrixView<const float> after) {
    if (index == 1) out = copied(after);
  };
  observer.end_after_layer = 0;
  pass.run_from({.layer = 0, .stream = stream.view(), .heads = heads.view()}, std::span(&ids, 1),
                observer, compute);
  if (spec.parallel) take_off(out);
  return out;
}

}  // namespace

void norm_without_gain(const NormSpec& norm, Matrix<float>& rows) {
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    const std::span<float> values(&rows(row, 0), static_cast<std::size_t>(rows.cols()));
    const auto [mean, scale] = normed_row(norm, values);
    for (float& value : values) {
      value = static_cast<float>((static_cast<double>(value) - mean) / scale);
    }
  }
}

std::string obstacle_to(const ForwardPass& pass, TokenBasis basis) {
  const ForwardWeights& weights = pass.weights();
  if (basis == TokenBasis::write) {
    if (!weights.head) return pass.no_logits();
    const bool plain =
        weights.head->dense == nullptr && !weights.head->norm && weights.last_projection == nullptr;
    return plain ? "" : kTransforms;
  }
  if (basis != TokenBasis::mlp0) return "";
  if (!pass.may_start_between()) return "its layers read more than the stream";
  if (weights.layers.front().mixer != nullptr) return "its first layer does not attend";
  return "";
}

Matrix<float> token_rows(const ForwardPass& pass, TokenBasis basis, const TokenIds& ids,
                         const Compute& compute) {
  if (basis == TokenBasis::write) return written_rows(pass, ids);
  Matrix<float> rows = pass.embed_alone(ids, /*positions=*/basis != TokenBasis::word, compute);
  if (basis == TokenBasis::mlp0) rows = after_mlp(pass, ids, std::move(rows), compute);
  const OptionalNorm& norm = pass.weights().layers.front().attention_input;
  if (norm) norm_without_gain(norm->spec, rows);
  return rows;
}

}  // namespace attnscope
