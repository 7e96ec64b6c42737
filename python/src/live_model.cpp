// What a live PyTorch model needs from the library: where the components of its layers are, which
// positions of an item are scored, and the direction of each token's logit.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>

#include "attnscope/engine/work_item.h"
#include "attnscope/features/common/scored_texts.h"
#include "attnscope/model/tensor_roles.h"
#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/rows/json.h"
#include "python/src/bindings.h"
#include "python/src/live_pass.h"

namespace attnscope::python {
LivePass::LivePass(const OpenModel& open, std::size_t stack)
    : model_(open.models.at(stack)),
      pass_(model_, /*copy_weights=*/false, {.kernels = kernels_of_environment()}) {}

std::string LivePass::description() const {
  Value::List layers, tensors;
  for (std::int64_t layer = 0; layer < model_.dimensions().layers; ++layer) {
    layers.emplace_back(layer_record(layer));
  }
  const auto projections = projection_roles(model_);
  const std::vector<TensorRule> sites = sites_of(model_.spec().architecture);
  for (const CheckpointTensor& tensor : model_.checkpoint().tensors()) {
    if (!model_.owns(tensor.name)) continue;
    const auto found = projections.find(&tensor);
    const RoleOfTensor role =
        found == projections.end() ? other_role(model_, sites, tensor.name) : found->second;
    tensors.emplace_back(Record{{"name", tensor.name}, {"role", role.role}, {"layer", role.layer}});
  }
  const ModelSpec& spec = model_.spec();
  Record head = {{"factor", spec.head.factor}, {"soft_cap", spec.head.soft_cap}};
  return json_text(Record{{"causal", spec.causal},
                          {"crosses", model_.stack() == "decoder"},
                          {"layers", std::move(layers)},
                          {"tensors", std::move(tensors)},
                          {"last_norm", norm_value(pass_.weights().last_norm)},
                          {"head", std::move(head)},
                          {"vocabulary", pass_.logits_width()},
                          {"may_start_between", pass_.may_start_between()},
                          {"obstacle", LinearHead::obstacle(pass_)}});
}

nb::ndarray<nb::numpy, float> LivePass::directions(const std::vector<std::int64_t>& tokens,
                                                   std::vector<double> mean) {
  Matrix<float> found;
  {
    const nb::gil_scoped_release release;
    if (!head_) {
      if (std::ssize(mean) != model_.dimensions().width) mean = mean_output_row(pass_, Compute{});
      head_.emplace(pass_, std::move(mean));
    }
    found = head_->directions(tokens);
  }
  const auto rows = static_cast<std::size_t>(found.rows());
  const auto cols = static_cast<std::size_t>(found.cols());
  auto owned = std::make_unique<Matrix<float>>(std::move(found));
  float* data = owned->data();
  const nb::capsule owner(
      owned.release(), [](void* matrix) noexcept { delete static_cast<Matrix<float>*>(matrix); });
  return {data, {rows, cols}, owner};
}

Value LivePass::norm_value(const OptionalNorm& norm, std::int64_t layer) const {
  if (!norm) return {};
  const std::string name =
      fill_pattern(norm->spec.tensor, layer_numbers(model_.dimensions(), layer));
  return Record{{"module", name.empty() ? name : model_.prefix() + name},
                {"centered", norm->spec.kind == NormKind::layer},
                {"epsilon", norm->spec.epsilon},
                {"gains", gains_of(*norm)}};
}

namespace {

/// Whether resid_mid is the layer's input plus the output of its attention or its mixer.
bool adds_attention(const LayerSpec& spec, const LayerWeights& weights) {
  const bool attends = weights.output != nullptr, mixes = weights.mixer != nullptr;
  const bool others = weights.laurel || weights.conformer || weights.attention_sum ||
                      weights.altup || weights.block || weights.cross;
  const bool scales = spec.branch_factor != 1 || spec.attention_stream_factor != 1 ||
                      !weights.attention_factors.empty();
  return attends != mixes && !others && !scales && !spec.parallel && !spec.norms_replace_stream;
}

/// Describes the module that multiplies with the tensor of a matrix: the number of its outputs, and
/// its bias. `ranges`: the outputs [first, count] that are the rows of the matrix, in order. Null:
/// unknown.
Value outputs_of(const Weight& weight) {
  const TensorMatrix& matrix = weight.matrix;
  const TensorView& tensor = matrix.tensor;
  if (weight.tensor == nullptr || tensor.shape.size() != 2) return {};
  const std::size_t axis = matrix.col_stride == tensor.stride(1) ? 0 : 1;  // of the outputs
  if (matrix.col_stride != tensor.stride(1 - axis)) return {};
  const std::int64_t step = tensor.stride(axis), other = matrix.col_stride;
  const auto output = [&](std::int64_t row) {
    const std::int64_t start = matrix.row_start(row);
    return (step < other ? start % other : start) / step;
  };
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    if (!ranges.empty() && output(row) == ranges.back().first + ranges.back().second) {
      ++ranges.back().second;
    } else {
      ranges.emplace_back(output(row), 1);
    }
  }
  Value::List out;
  for (const auto& [first, count] : ranges) out.emplace_back(Value::List{first, count});
  return Record{{"count", tensor.shape[axis]},
                {"bias", weight.bias == nullptr ? Value() : Value(weight.bias->name)},
                {"ranges", std::move(out)}};
}

}  // namespace

Record LivePass::layer_record(std::int64_t layer) const {
  const auto at = static_cast<std::size_t>(layer);
  const LayerWeights& weights = pass_.weights().layers[at];
  const HeadShape& heads = model_.spec().dimensions_of(layer).heads;
  Record outputs;
  for (const Role role : {Role::query, Role::key, Role::value, Role::gate, Role::up}) {
    if (model_.describes(role)) {
      outputs.add(std::string(role_name(role)), outputs_of(model_.weight(layer, role)));
    }
  }
  const auto name_of = [&](Role role) -> Value {
    if (!model_.describes(role)) return {};
    const Weight& weight = model_.weight(layer, role);
    return weight.tensor == nullptr ? Value() : Value(weight.tensor->name);
  };
  return {{"attends", weights.output != nullptr},
          {"mixes", weights.mixer != nullptr},
          {"has_mlp", weights.up != nullptr || weights.experts.has_value()},
          {"has_experts", weights.experts.has_value()},
          {"heads", heads.heads},
          {"value_dim", heads.value_dim},
          {"query", name_of(Role::query)},
          {"key", name_of(Role::key)},
          {"value", name_of(Role::value)},
          {"gate", name_of(Role::gate)},
          {"up", name_of(Role::up)},
          {"outputs", std::move(outputs)},
          {"router", name_of(Role::router)},
          {"query_down", name_of(Role::query_down)},
          {"output", name_of(Role::output)},
          {"down", name_of(Role::down)},
          {"head_norm", norm_value(weights.attention_heads, layer)},
          {"attention_norm", norm_value(weights.attention_output, layer)},
          {"mlp_norm", norm_value(weights.mlp_output, layer)},
          {"branch_factor", model_.spec().layers[at].branch_factor},
          {"mlp_input_norm", norm_value(weights.mlp_input, layer)},
          {"attention_sum_norm", norm_value(weights.attention_sum, layer)},
          {"convolution_norm",
           norm_value(weights.convolution ? weights.convolution->norm : OptionalNorm(), layer)},
          {"has_block", weights.block.has_value()},
          {"adds_attention", adds_attention(model_.spec().layers[at], weights)},
          {"scales_columns", !weights.attention_factors.empty() || !weights.mlp_factors.empty()}};
}

namespace {

/// Returns the model's inputs of an item of text, and the positions at which they are scored.
nb::dict item_positions(const std::string& text) {
  const WorkItem item = parse_work_item(text, "work item");
  const ScoredPositions found = scored_positions(item);
  nb::list inputs, types;
  for (const TokenIds& ids : found.inputs) {
    inputs.append(nb::cast(static_cast<const std::vector<std::int64_t>&>(ids)));
    types.append(nb::cast(ids.types));
  }
  nb::dict out;
  out["inputs"] = inputs;
  out["types"] = types;
  out["rows"] = nb::cast(found.rows);
  out["tokens"] = nb::cast(found.tokens);
  out["of_sequence"] = nb::cast(found.of_sequence);
  return out;
}

}  // namespace

void bind_live_model(nb::module_& module) {
  nb::class_<LivePass>(module, "LivePass", "A stack of a model whose forward pass PyTorch runs.")
      .def(nb::init<const OpenModel&, std::size_t>(), nb::arg("model"), nb::arg("stack"))
      .def("description", &LivePass::description,
           "Describe the components of the layers, the last norm and the LM head, as JSON.")
      .def("directions", &LivePass::directions, nb::arg("tokens"), nb::arg("mean"),
           nb::sig("def directions(self, tokens: collections.abc.Sequence[int], mean: "
                   "collections.abc.Sequence[float]) -> numpy.typing.NDArray[numpy.float32]"),
           "Return the direction (n, D) of each token's logit. Token -1: zeros.");
  module.def("item_positions", &item_positions, nb::arg("item"),
             nb::sig("def item_positions(item: str) -> dict[str, typing.Any]"),
             "Return the inputs of an item of text, and the positions at which they are scored.");
}

}  // namespace attnscope::python
