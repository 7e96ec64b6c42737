#include "attnscope/features/common/circuit_weights.h"

#include <cstdlib>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/features/common/fold_norm.h"
#include "attnscope/features/common/mla_head_weights.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/model/rope.h"

namespace attnscope {
namespace {

/// Rotation of the layer's queries and keys for a text that is just long enough for the offset.
RopeFrequencies frequencies_at_offset(const Model& model, std::int64_t layer, std::int64_t offset) {
  const ModelSpec& spec = model.spec();
  const auto& rope = spec.layers[static_cast<std::size_t>(layer)].attention.rope;
  if (!rope) return {};  // layers without RoPE, which some models have
  return rope_frequencies(*rope, spec.dimensions_of(layer).heads.head_dim, std::abs(offset) + 1,
                          spec.source);
}

}  // namespace

std::string append_bias(const Model& model, const Weight& weight, Matrix<double>& matrix) {
  std::span<const double> column;
  Read<Matrix<double>> bias;
  if (weight.bias != nullptr) {
    bias = read_weight_float64(model, {.tensor = weight.bias, .matrix = weight.bias_column});
    if (!bias.skipped.empty()) return "its bias: " + bias.skipped;
    column = {bias.values.data(), static_cast<std::size_t>(bias.values.rows())};
  }
  matrix = with_column(matrix, column);
  return "";
}

KeyRotation key_rotation(const Model& model, std::int64_t layer, std::int64_t offset) {
  const RopeFrequencies frequencies = frequencies_at_offset(model, layer, offset);
  const auto& rope = model.spec().layers[static_cast<std::size_t>(layer)].attention.rope;
  KeyRotation rotation{
      .pairs = rope ? rope->pairs : RotaryPairs::halves,
      .factor = frequencies.gain * frequencies.gain};  // queries have the same gain
  for (const float radians : frequencies.radians_per_token) {
    rotation.angles.push_back(static_cast<double>(radians) * static_cast<double>(offset));
  }
  return rotation;
}

CircuitVariant variant_of(const Record& options) {
  const Value* fold = options.find("fold_norm");
  if (fold == nullptr) refuse_field("fold_norm");
  const bool* gain = fold->get<bool>();
  return {.fold_norm = gain == nullptr ? FoldNorm::centered
                       : *gain         ? FoldNorm::gain
                                       : FoldNorm::none,
          .with_bias = expect<bool>(options, "with_bias"),
          .rope_offset = expect<std::int64_t>(options, "rope_offset")};
}

void check_variant(const Model& model, const CircuitVariant& variant) {
  const ModelSpec& spec = model.spec();
  if (variant.fold_norm != FoldNorm::none && spec.layers.empty()) {
    throw Error(ErrorKind::usage,
                {.parameter = "fold_norm",
                 .problem = model.name() + ": the norm before its projections is unknown"});
  }
  if (variant.fold_norm != FoldNorm::none && model.stack() == "cross") {
    throw Error(
        ErrorKind::usage,
        {.parameter = "fold_norm",
         .problem = model.name() +
                    ": its queries read the decoder's residual stream, its keys and values the "
                    "encoder's, and the two have different norms"});
  }
  if (variant.rope_offset == 0) return;
  if (!spec.architecture.rope || spec.layers.empty()) {
    throw Error(ErrorKind::usage, {.parameter = "rope_offset",
                                   .problem = model.name() + " (" + spec.architecture.name +
                                              ") has no rotary positions"});
  }
  for (std::int64_t layer = 0; layer < spec.dimensions.layers; ++layer) {
    frequencies_at_offset(model, layer, variant.rope_offset);
  }
}

std::string cross_note(const Model& model) {
  return model.name() +
         ": cross-attention: queries come from the decoder, keys and values from the "
         "encoder. Symmetry, identity cosine and copying score compare vectors from two "
         "different spaces.";
}

std::string query_norm_note(const Model& model) {
  return model.name() + ": the norms of Q and K are not linear and are not included in qk";
}

void add_variant_inputs(ItemInputs& inputs, const Model& model, std::int64_t layer, Role circuit,
                        const CircuitVariant& variant) {
  const bool qk = circuit == Role::qk;
  if (variant.fold_norm != FoldNorm::none) {
    const auto [norm, gain] = model.input_norm(layer);
    inputs.add_missing(gain.missing);
    inputs.add("norm", gain.tensor != nullptr).add("norm_offset", norm ? norm->gain_offset : 0.0);
    if (gain.tensor != nullptr) {
      inputs.add_matrix(model.checkpoint(), *gain.tensor,
                        as_row(*gain.tensor, model.spec().dimensions_of(layer).width));
    }
  }
  if (variant.with_bias) {
    Value::List present;
    for (const Role role : model.parts_of(circuit)) {
      if (role == Role::output) continue;
      const Weight& weight = model.weight(layer, role);
      present.emplace_back(weight.bias != nullptr);
      if (weight.bias == nullptr) continue;
      inputs.add_matrix(model.checkpoint(), *weight.bias, weight.bias_column);
    }
    inputs.add("biases", std::move(present));
  }
  if (!qk || variant.rope_offset == 0) return;
  KeyRotation rotation = key_rotation(model, layer, variant.rope_offset);
  inputs.add("key_angles", std::move(rotation.angles)).add("key_factor", rotation.factor);
  if (rotation.pairs == RotaryPairs::neighbors) inputs.add("key_pairs", "neighbours");
}

SumFactors LoadedCircuit::sum() const {
  SumFactors out;
  if (summed_left.rows() > 0) {
    out.factors = {summed_left.view(), summed_right.view()};
    return out;
  }
  out.left = summed_left_factor(weights());
  out.factors = {std::as_const(out.left).view(), right.view()};
  return out;
}

LoadedCircuit load_circuit(const Model& model, std::int64_t layer, Role circuit,
                           const CircuitVariant& variant) {
  if (model.dimensions().mla) {
    return load_mla_circuit(model, layer, circuit, variant, /*narrowed=*/false);
  }
  LoadedCircuit out{.circuit = circuit, .heads = model.dimensions(layer).heads};
  const bool qk = circuit == Role::qk;
  const Weight& left = model.weight(layer, qk ? Role::query : Role::output);
  const Weight& right = model.weight(layer, qk ? Role::key : Role::value);
  auto read_left = read_weight_float64(model, left);
  auto read_right = read_weight_float64(model, right);
  for (const auto* read : {&read_left, &read_right}) {
    if (!read->skipped.empty()) out.skipped = "a factor: " + read->skipped;
  }
  if (!out.skipped.empty()) return out;
  out.left = std::move(read_left.values);
  out.right = std::move(read_right.values);
  if (variant.fold_norm != FoldNorm::none) {
    const bool centered = variant.fold_norm == FoldNorm::centered &&
                          model.spec().architecture.norm->kind == NormKind::layer;
    if (out.right.cols() != model.dimensions(layer).width) {  // of Zamba2
      out.skipped = "its attention has inputs other than the residual stream";
      return out;
    }
    if (!qk && centered) center_columns(out.left);
    const auto gain = read_input_gain(model, layer);
    out.skipped = gain.skipped;
    if (!out.skipped.empty()) return out;
    if (gain.values) {
      if (qk) multiply_columns(out.left, *gain.values);
      multiply_columns(out.right, *gain.values);
      if (qk && centered) center_rows(out.left);
      if (centered) center_rows(out.right);
    } else {
      out.note = kNothingFolded;
    }
  }
  if (variant.with_bias) {
    if (qk) out.skipped = append_bias(model, left, out.left);
    if (out.skipped.empty()) out.skipped = append_bias(model, right, out.right);
    if (!out.skipped.empty()) return out;
  }
  if (qk && variant.rope_offset != 0) {
    const KeyRotation rotation = key_rotation(model, layer, variant.rope_offset);
    rotate_keys(out.right.view(), out.heads.head_dim, rotation.angles, rotation.pairs,
                rotation.factor);
  }
  return out;
}

}  // namespace attnscope
