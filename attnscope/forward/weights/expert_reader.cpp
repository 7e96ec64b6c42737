// Reads the experts of a layer and their router.
#include <cmath>

#include "attnscope/forward/weights/layer_reader.h"
#include "attnscope/model/tensor_names.h"

namespace attnscope {

ExpertWeights LayerReader::read_experts_of(std::int64_t layer, const ExpertSpec& spec) {
  for (std::int64_t expert = 0; expert < spec_.dimensions.experts; ++expert) {
    compute_.check_stop();
    for (const Role role : {Role::gate, Role::up, Role::down}) {
      if (role == Role::gate && !model_.describes_of_expert(role)) continue;
      const Weight weight = model_.expert_weight(layer, expert, role);
      if (weight.tensor == nullptr) refuse(weight.missing, layer);
      check_dtype(*weight.tensor);
      if (weight.bias == nullptr) require_none(layer, role, weight);
    }
  }
  const auto one = [&](Role role) { return projections(layer, std::span(&role, 1)); };
  ExpertWeights out{.model = &model_, .router = one(Role::router)};
  const Dimensions& dimensions = spec_.dimensions;
  if (!spec.choice_bias.empty()) out.choice_bias = choice_bias(layer, spec);
  if (!spec.expert_factors.empty()) {
    const std::string name = name_in(layer, spec.expert_factors);
    out.factors = values(need(model_.find(name, Shape{dimensions.experts}), layer));
  }
  if (spec.norms) read_expert_norms(layer, *spec.norms, out);
  if (!spec.latent_down.empty()) {
    const std::int64_t inputs = dimensions.expert_inputs;
    out.latent_down = linear(name_in(layer, spec.latent_down), inputs, dimensions.width);
    out.latent_up = linear(name_in(layer, spec.latent_up), dimensions.width, inputs);
  }
  if (dimensions.shared_width == 0) return out;
  if (model_.describes(Role::shared_gate)) out.shared_gate = one(Role::shared_gate);
  out.shared_up = one(Role::shared_up);
  out.shared_down = one(Role::shared_down);
  if (!spec.shared_weight.empty()) {
    out.shared_weight = linear(name_in(layer, spec.shared_weight), 1, dimensions.width);
  }
  return out;
}

void LayerReader::read_expert_norms(std::int64_t layer, const ExpertNorms& norms,
                                    ExpertWeights& out) const {
  const std::int64_t width = spec_.dimensions.width;
  NormSpec own = *spec_.layers[static_cast<std::size_t>(layer)].mlp_input;
  const auto norm_called = [&](const std::string& tensor) {
    own.tensor = tensor;
    return norm(own, layer, width);
  };
  out.input_norm = norm_called(norms.input);
  out.output_norm = norm_called(norms.output);
  out.shared_norm = norm_called(norms.shared_output);
  own.tensor.clear();
  NormWeights& router = out.router_norm.emplace(NormWeights{.spec = own});
  router.gain = values(need(model_.find(name_in(layer, norms.router_gain), Shape{width}), layer));
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(width)));
  for (float& gain : router.gain) gain /= root;
}

std::vector<float> LayerReader::choice_bias(std::int64_t layer, const ExpertSpec& spec) const {
  std::vector<std::string> names;
  for (const std::string& pattern : spec.choice_bias) names.push_back(name_in(layer, pattern));
  const CheckpointTensor* found = model_.checkpoint().find_first(names);
  const CheckpointTensor& tensor =
      need(model_.find(found == nullptr ? names.front() : found->name), layer);
  const std::int64_t experts = spec_.dimensions.experts;
  if (tensor.view.element_count() != experts) {
    refuse("'" + tensor.name + "' has " + std::to_string(tensor.view.element_count()) +
               " values for " + std::to_string(experts) + " experts",
           layer);
  }
  return values(tensor);
}

}  // namespace attnscope
