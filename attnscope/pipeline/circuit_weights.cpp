#include "attnscope/pipeline/circuit_weights.h"

#include <cmath>
#include <optional>
#include <vector>

#include "attnscope/core/error.h"
#include "attnscope/model/rope.h"
#include "attnscope/pipeline/read_weight.h"

namespace attnscope {
namespace {

using Gain = std::vector<double>;  // (D,), one factor for each column

/// The gain as a matrix of one row.
TensorMatrix as_row(const CheckpointTensor& gain, std::int64_t width) {
  return {.tensor = gain.view,
          .rows = 1,
          .cols = width,
          .row_stride = width,
          .block_rows = 1,
          .block_stride = width};
}

/// The gain of the norm that the layer's projections read; nothing where it reads none.
Read<std::optional<Gain>> read_gain(const Model& model, std::int64_t layer) {
  const CheckpointTensor* tensor = model.input_norm(layer);
  if (tensor == nullptr) return {};
  const std::int64_t width = model.dimensions().width;
  const auto read =
      read_weight_float64(model, {.tensor = tensor, .matrix = as_row(*tensor, width)});
  if (!read.skipped.empty()) return {{}, "the norm before it: " + read.skipped};
  const double offset = model.spec().architecture.norm->offset;
  Gain gain;
  for (std::int64_t col = 0; col < width; ++col) gain.push_back(offset + read.matrix(0, col));
  return {std::move(gain), ""};
}

void multiply_columns(Matrix<double>& matrix, const Gain& gain) {
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    for (std::int64_t col = 0; col < matrix.cols(); ++col) {
      matrix(row, col) *= gain[static_cast<std::size_t>(col)];
    }
  }
}

/// The matrix with its bias as the last column; zero where it has none. Returns why not, if so.
std::string append_bias(const Model& model, const Weight& weight, Matrix<double>& matrix) {
  Matrix<double> wider(matrix.rows(), matrix.cols() + 1);
  Read<Matrix<double>> bias;
  if (weight.bias != nullptr) {
    bias = read_weight_float64(model, {.tensor = weight.bias, .matrix = weight.bias_column});
    if (!bias.skipped.empty()) return "its bias: " + bias.skipped;
  }
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    for (std::int64_t col = 0; col < matrix.cols(); ++col) wider(row, col) = matrix(row, col);
    wider(row, matrix.cols()) = weight.bias != nullptr ? bias.matrix(row, 0) : 0;
  }
  matrix = std::move(wider);
  return "";
}

/// R_Δ W_K: every key head turned by `offset` tokens.
void turn_keys(const Model& model, std::int64_t layer, std::int64_t offset, Matrix<double>& keys) {
  const ModelSpec& spec = model.spec();
  const std::int64_t head_dim = spec.dimensions.heads.head_dim;
  const std::vector<double> frequencies =
      rope_frequencies(spec.rope[static_cast<std::size_t>(layer)], head_dim, spec.source);
  const std::int64_t pairs = std::ssize(frequencies);
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    const double angle = static_cast<double>(offset) * frequencies[static_cast<std::size_t>(pair)];
    const double cosine = std::cos(angle), sine = std::sin(angle);
    for (std::int64_t first = pair; first < keys.rows(); first += head_dim) {
      for (std::int64_t col = 0; col < keys.cols(); ++col) {
        double& x = keys(first, col);
        double& y = keys(first + pairs, col);
        const double turned = x * cosine - y * sine;
        y = y * cosine + x * sine;
        x = turned;
      }
    }
  }
}

}  // namespace

void check_variant(const Model& model, const CircuitVariant& variant) {
  const ModelSpec& spec = model.spec();
  if (variant.fold_norm && !spec.architecture.norm) {
    throw Error(ErrorKind::usage, "--fold-norm",
                model.name() + " does not say which norm feeds its projections");
  }
  if (variant.rope_offset == 0) return;
  if (spec.rope.empty()) {
    throw Error(ErrorKind::usage, "--rope-offset",
                model.name() + " (" + spec.architecture.name + ") has no rotary positions");
  }
  for (const Rope& rope : spec.rope) {
    rope_frequencies(rope, spec.dimensions.heads.head_dim, spec.source);
  }
}

std::string query_norm_note(const Model& model) {
  return model.name() +
         ": Q and K pass norms of their own, which are not linear and are left out of qk";
}

void add_variant_inputs(ItemInputs& inputs, const Model& model, std::int64_t layer, Role circuit,
                        const CircuitVariant& variant) {
  const bool qk = circuit == Role::qk;
  if (variant.fold_norm) {
    const CheckpointTensor* gain = model.input_norm(layer);
    inputs.add("norm", gain != nullptr).add("norm_offset", model.spec().architecture.norm->offset);
    if (gain != nullptr) {
      inputs.add_matrix(model.checkpoint(), *gain, as_row(*gain, model.dimensions().width));
    }
  }
  if (variant.with_bias) {
    Value::List present;
    for (const Role role : qk ? std::vector{Role::query, Role::key} : std::vector{Role::value}) {
      const Weight& weight = model.weight(layer, role);
      present.emplace_back(weight.bias != nullptr);
      if (weight.bias == nullptr) continue;
      inputs.add_matrix(model.checkpoint(), *weight.bias, weight.bias_column);
    }
    inputs.add("biases", std::move(present));
  }
  if (!qk || variant.rope_offset == 0) return;
  const Rope& rope = model.spec().rope[static_cast<std::size_t>(layer)];
  inputs.add("rope", Record{{"scaling", rope.scaling},
                            {"theta", rope.theta},
                            {"fraction", rope.fraction},
                            {"factor", rope.factor},
                            {"low_freq_factor", rope.low_freq_factor},
                            {"high_freq_factor", rope.high_freq_factor},
                            {"original_context", rope.original_context}});
}

LoadedCircuit load_circuit(const Model& model, std::int64_t layer, Role circuit,
                           const CircuitVariant& variant) {
  LoadedCircuit out{.circuit = circuit, .heads = model.dimensions().heads};
  const bool qk = circuit == Role::qk;
  const Weight& left = model.weight(layer, qk ? Role::query : Role::output);
  const Weight& right = model.weight(layer, qk ? Role::key : Role::value);
  auto read_left = read_weight_float64(model, left);
  auto read_right = read_weight_float64(model, right);
  for (const auto* read : {&read_left, &read_right}) {
    if (!read->skipped.empty()) out.skipped = "a factor: " + read->skipped;
  }
  if (!out.skipped.empty()) return out;
  out.left = std::move(read_left.matrix);
  out.right = std::move(read_right.matrix);

  if (variant.fold_norm) {
    const auto gain = read_gain(model, layer);
    out.skipped = gain.skipped;
    if (!out.skipped.empty()) return out;
    if (gain.matrix) {
      if (qk) multiply_columns(out.left, *gain.matrix);
      multiply_columns(out.right, *gain.matrix);
    } else {
      out.note = "no norm of the model's width feeds it, so nothing was folded in";
    }
  }
  if (variant.with_bias) {
    if (qk) out.skipped = append_bias(model, left, out.left);
    if (out.skipped.empty()) out.skipped = append_bias(model, right, out.right);
    if (!out.skipped.empty()) return out;
  }
  if (qk && variant.rope_offset != 0) turn_keys(model, layer, variant.rope_offset, out.right);
  return out;
}

}  // namespace attnscope
