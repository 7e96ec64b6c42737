#include "attnscope/model/layout_experts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace attnscope {
namespace {

using nlohmann::json;

constexpr const char* kExpertLayers = "expert_layers";

ExpertTensors parse_expert_weights(LayoutFields& fields, std::string_view where) {
  ExpertTensors tensors;
  const json* weights = fields.find("weights");
  if (weights == nullptr || !weights->is_array() || weights->empty() || weights->size() > 3) {
    fields.fail("'weights' is not a list of up, down and perhaps gate");
  }
  for (const json& value : *weights) {
    const LayoutFields own(value, where,
                           "experts.weights[" + std::to_string(tensors.weights.size()) + "]");
    WeightRule rule = parse_layout_weight(own);
    if (!is_of_mlp(rule.role)) own.fail("experts have the roles gate, up and down alone");
    if (rule.index) own.fail("'index' is the expert's own number");
    if (std::any_of(tensors.weights.begin(), tensors.weights.end(),
                    [&](const WeightRule& other) { return other.role == rule.role; })) {
      own.fail('\'' + std::string(role_name(rule.role)) + "' is described twice");
    }
    tensors.weights.push_back(std::move(rule));
  }
  for (const Role role : {Role::up, Role::down}) {
    if (std::none_of(tensors.weights.begin(), tensors.weights.end(),
                     [&](const WeightRule& rule) { return rule.role == role; })) {
      fields.fail("'weights' has no '" + std::string(role_name(role)) + "'");
    }
  }
  return tensors;
}

void check_layers(LayoutFields& fields, const json& listed, std::int64_t layers) {
  const auto is_layer = [&](const json& layer) {
    return layer.is_number_unsigned() &&
           layer.get<std::uint64_t>() < static_cast<std::uint64_t>(layers);
  };
  if (!listed.is_array()) fields.fail("'layers' is not a list of layers");
  if (!std::all_of(listed.begin(), listed.end(), is_layer)) {
    fields.fail("'layers' lists what is no layer from 0 to " + std::to_string(layers - 1));
  }
}

}  // namespace

void parse_layout_experts(LayoutFields fields, ModelSpec& spec, json& config) {
  MoeRule rule;
  rule.default_experts = fields.required_number("count");
  rule.default_chosen = fields.required_number("chosen");
  rule.width = {"", fields.required_number("width")};
  rule.tensors = {parse_expert_weights(fields, spec.source)};
  if (const json* listed = fields.find("layers")) {
    check_layers(fields, *listed, spec.dimensions.layers);
    config[kExpertLayers] = *listed;
    rule.layers.listed = kExpertLayers;
  }
  rule.score =
      fields.choice<RouterScore>("score", {{"softmax", RouterScore::softmax},
                                           {"sigmoid", RouterScore::sigmoid},
                                           {"softmax_of_chosen", RouterScore::softmax_of_chosen},
                                           {"sigmoid_of_chosen", RouterScore::sigmoid_of_chosen},
                                           {"sparsemixer", RouterScore::sparsemixer}});
  rule.jitter = {"", fields.not_negative("jitter").value_or(0)};
  if (const std::string bias = fields.text("choice_bias"); !bias.empty()) {
    rule.choice_bias = {bias};
  }
  rule.groups = {"", fields.number("groups").value_or(1)};
  rule.kept_groups = {"", fields.number("kept_groups").value_or(1)};
  rule.group_score = fields.choice<GroupScore>(
      "group_score",
      {{"best", GroupScore::best}, {"sum_of_two_best", GroupScore::sum_of_two_best}});
  rule.normalise = {"", fields.flag("normalise", false)};
  rule.normalise_epsilon = fields.not_negative("normalise_epsilon").value_or(0);
  rule.normalise_least = {"", fields.not_negative("normalise_least").value_or(0)};
  rule.times = {"", fields.not_negative("times").value_or(1)};
  rule.weighs_input = fields.flag("weighs_input", false);
  rule.clamp = {"", fields.positive("clamp")};
  rule.alpha = {"", fields.positive("alpha").value_or(1)};
  rule.shared_width = {"", fields.number("shared_width", /*least=*/0)};
  rule.shared_weight = fields.text("shared_weight");
  rule.expert_factors = fields.text("factors");
  if (auto norms = fields.object("norms")) {
    rule.norms = ExpertNorms{.input = norms->required_text("input"),
                             .output = norms->required_text("output"),
                             .shared_output = norms->required_text("shared_output"),
                             .router_gain = norms->required_text("router_gain")};
    norms->refuse_unknown();
    if (rule.shared_width.fallback.value_or(0) == 0) fields.fail("'norms' needs a 'shared_width'");
  }
  fields.refuse_unknown();
  spec.architecture.experts = std::make_shared<MoeRule>(std::move(rule));
}

}  // namespace attnscope
