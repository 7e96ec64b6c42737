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
  const std::string name = fill_pattern(norm->spec.tensor, {.layer = layer});
  return Record{{"module", name.empty() ? name : model_.prefix() + name},
                {"centered", norm->spec.kind == NormKind::layer},
                {"epsilon", norm->spec.epsilon},
                {"gains", gains_of(*norm)}};
}

Record LivePass::layer_record(std::int64_t layer) const {
  const auto at = static_cast<std::size_t>(layer);
  const LayerWeights& weights = pass_.weights().layers[at];
  const HeadShape& heads = model_.spec().dimensions_of(layer).heads;
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
          {"query_down", name_of(Role::query_down)},
          {"output", name_of(Role::output)},
          {"down", name_of(Role::down)},
          {"head_norm", norm_value(weights.attention_heads, layer)},
          {"attention_norm", norm_value(weights.attention_output, layer)},
          {"mlp_norm", norm_value(weights.mlp_output, layer)},
          {"branch_factor", model_.spec().layers[at].branch_factor}};
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
