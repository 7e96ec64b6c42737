#include "attnscope/model/layout/layout_layers.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "attnscope/model/config/layer_shapes_config.h"
#include "attnscope/model/head_tensors.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// {head} stands for one tensor per head. Only some projections may use it.
void check_head_mark(const WeightRule& rule, const LayoutFields& fields) {
  if (rule.tensor.find(kHeadMark) == std::string::npos) return;
  const bool has_heads = rule.role == Role::query || rule.role == Role::key ||
                         rule.role == Role::value || rule.role == Role::output;
  if (!has_heads) fields.fail("'{head}' in 'tensor': only q, k, v and o have heads");
  if (!rule.fused.empty() || rule.index) {
    fields.fail("'{head}' in 'tensor' cannot be combined with 'fused' and 'index'");
  }
}

}  // namespace

WeightRule parse_layout_weight(LayoutFields fields) {
  WeightRule rule;
  const json* role = fields.find("role");
  if (role == nullptr) fields.fail("has no 'role'");
  rule.role = parse_layout_role(*role, fields);
  rule.tensor = fields.required_text("tensor");
  rule.storage = fields.choice<Storage>(
      "storage", {{"out_by_in", Storage::out_by_in}, {"in_by_out", Storage::in_by_out}});
  rule.groups = fields.choice<std::int64_t>("order", {{"blocks", 1},
                                                      {"per_kv_head", kPerKvHead},
                                                      {"per_head", kPerHead},
                                                      {"alternating", kPerRow}});
  if (const auto groups = fields.number("groups")) {
    if (rule.groups != 1) fields.fail("'groups' and 'order' cannot be combined");
    rule.groups = *groups;
  }
  rule.index = fields.number("index", /*least=*/0);
  rule.bias = fields.text("bias");
  rule.fused = fields.roles("fused");
  if (!rule.fused.empty() && std::count(rule.fused.begin(), rule.fused.end(), rule.role) != 1) {
    fields.fail("'fused' must list the rule's own role once");
  }
  if (rule.groups != 1 && rule.fused.empty()) fields.fail("'groups' requires 'fused'");
  for (const Role part : rule.fused) {
    const bool per_head = part == Role::query || part == Role::key || part == Role::value;
    if (rule.groups == kPerKvHead && !per_head) {
      fields.fail("only q, k and v can be fused per_kv_head");
    }
    if (rule.groups == kPerHead && part != Role::query && part != Role::attention_gate) {
      fields.fail("only q and attention_gate can be fused per_head");
    }
    if (rule.groups == kPerRow &&
        canonical_shape({.width = 2, .mlp_width = 1, .shared_width = 1}, part).first != 1) {
      fields.fail("only gate and up can be fused alternating");
    }
  }
  check_head_mark(rule, fields);
  fields.refuse_unknown();
  return rule;
}

namespace {

constexpr const char* kExpertLayers = "expert_layers";

ExpertTensors parse_expert_weights(LayoutFields& fields, std::string_view where) {
  ExpertTensors tensors;
  const json* weights = fields.find("weights");
  if (weights == nullptr || !weights->is_array() || weights->empty() || weights->size() > 3) {
    fields.fail("'weights' is not a list of up, down and optionally gate");
  }
  for (const json& value : *weights) {
    const LayoutFields own(value, where,
                           "experts.weights[" + std::to_string(tensors.weights.size()) + "]");
    WeightRule rule = parse_layout_weight(own);
    if (!is_of_mlp(rule.role)) own.fail("experts may only have the roles gate, up and down");
    if (rule.index) own.fail("'index' is not allowed, because it is the number of the expert");
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
    fields.fail("'layers' contains a value that is not a layer from 0 to " +
                std::to_string(layers - 1));
  }
}

}  // namespace

void parse_layout_experts(LayoutFields fields, ModelSpec& spec, json& config) {
  MoeRule rule;
  rule.default_experts = fields.required_number("count");
  rule.default_chosen = fields.required_number("experts_per_token");
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
  rule.kept_mlp_groups = {"", fields.number("kept_groups").value_or(1)};
  rule.group_score = fields.choice<GroupScore>(
      "group_score",
      {{"best", GroupScore::best}, {"sum_of_two_best", GroupScore::sum_of_two_best}});
  rule.normalize = {"", fields.flag("normalize", false)};
  rule.normalize_epsilon = fields.not_negative("normalize_epsilon").value_or(0);
  rule.normalize_least = {"", fields.not_negative("normalize_least").value_or(0)};
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
    if (rule.shared_width.fallback.value_or(0) == 0)
      fields.fail("'norms' requires a 'shared_width'");
  }
  fields.refuse_unknown();
  spec.architecture.experts = std::make_shared<MoeRule>(std::move(rule));
}

namespace {

using nlohmann::json;

constexpr const char *kKinds = "mixer_kinds", *kAttends = "attention", *kMixer = "mixer";

ConfigKey needed_number(LayoutFields& fields, const char* key) {
  return {"", fields.required_number(key)};
}

DeltaNetRule parse_delta_net(LayoutFields fields) {
  DeltaNetRule rule{.key_heads = needed_number(fields, "key_heads"),
                    .value_heads = needed_number(fields, "value_heads"),
                    .key_dim = needed_number(fields, "key_dim"),
                    .value_dim = needed_number(fields, "value_dim"),
                    .kernel = needed_number(fields, "kernel"),
                    .place = fields.required_text("place"),
                    .by_head = fields.flag("by_head", false)};
  fields.refuse_unknown();
  return rule;
}

ShortConvolutionRule parse_short_convolution(LayoutFields fields) {
  ShortConvolutionRule rule{.kernel = needed_number(fields, "kernel"),
                            .place = fields.required_text("place"),
                            .biased = {"", fields.flag("biased", false)}};
  fields.refuse_unknown();
  return rule;
}

/// For each layer, whether it has attention, from the list of layers without attention.
json kinds_of(LayoutFields& fields, std::int64_t layers) {
  json kinds(static_cast<std::size_t>(layers), kAttends);
  const json* listed = fields.find("layers");
  if (listed == nullptr || !listed->is_array()) fields.fail("'layers' is not a list of layers");
  for (const json& layer : *listed) {
    if (!layer.is_number_unsigned() ||
        layer.get<std::uint64_t>() >= static_cast<std::uint64_t>(layers)) {
      fields.fail("'layers' contains a value that is not a layer from 0 to " +
                  std::to_string(layers - 1));
    }
    kinds[layer.get<std::size_t>()] = kMixer;
  }
  return kinds;
}

}  // namespace

void parse_layout_mixers(LayoutFields fields, ModelSpec& spec, json& config) {
  MixerRule rule{.list_keys = {kKinds}};
  std::string name = fields.text("name");
  config[kKinds] = kinds_of(fields, spec.dimensions.layers);
  if (const auto own = fields.object("delta_net")) {
    rule.delta_net = parse_delta_net(*own);
    if (name.empty()) name = "Gated DeltaNet";
  }
  if (const auto own = fields.object("short_convolution")) {
    rule.short_convolution = parse_short_convolution(*own);
    if (name.empty()) name = "a short convolution";
  }
  if (rule.delta_net && rule.short_convolution) {
    fields.fail("has both 'delta_net' and 'short_convolution'");
  }
  if (name.empty()) fields.fail("requires 'delta_net', 'short_convolution' or 'name'");
  fields.refuse_unknown();
  rule.kinds = {{.name = kAttends, .attends = true}, {.name = kMixer, .mixer = std::move(name)}};
  spec.architecture.mixers = std::make_shared<MixerRule>(std::move(rule));
}

namespace {

using nlohmann::json;

/// In ascending order.
std::vector<std::int64_t> shaped_layers(LayoutFields& fields, std::int64_t layers) {
  const json* listed = fields.find("layers");
  if (listed == nullptr || !listed->is_array() || listed->empty()) {
    fields.fail("'layers' is not a list of layers");
  }
  std::vector<std::int64_t> out;
  for (const json& layer : *listed) {
    const bool is_layer = layer.is_number_unsigned() &&
                          layer.get<std::uint64_t>() < static_cast<std::uint64_t>(layers);
    if (!is_layer || (!out.empty() && layer.get<std::int64_t>() <= out.back())) {
      fields.fail("'layers' does not list layers from 0 to " + std::to_string(layers - 1) +
                  " in ascending order");
    }
    out.push_back(layer.get<std::int64_t>());
  }
  return out;
}

}  // namespace

void parse_layout_shapes(LayoutFields& fields, ModelSpec& spec) {
  const json* list = fields.find("layer_shapes");
  if (list == nullptr) return;
  if (!list->is_array()) fields.fail("'layer_shapes' is not a list");
  const std::int64_t layers = spec.dimensions.layers;
  spec.own_dimensions.assign(static_cast<std::size_t>(layers), spec.dimensions);
  spec.key_values.resize(static_cast<std::size_t>(layers));
  for (std::size_t entry = 0; entry < list->size(); ++entry) {
    LayoutFields own((*list)[entry], spec.source, "layer_shapes[" + std::to_string(entry) + "]");
    const std::vector<std::int64_t> shaped = shaped_layers(own, layers);
    const auto kv_heads = own.number("kv_heads"), head_dim = own.number("head_dim"),
               value_dim = own.number("value_dim"), mlp_width = own.number("intermediate_size"),
               shared_width = own.number("shared_width");
    const bool values_are_keys = own.flag("values_are_keys", false);
    const auto from = own.number("keys_and_values_of", /*least=*/0);
    own.refuse_unknown();
    if (spec.dimensions.mla) own.fail("layers with latents must all have the same shape");
    if (mlp_width && spec.dimensions.mlp_width == 0)
      own.fail("'intermediate_size' requires an MLP");
    if (shared_width && spec.dimensions.shared_width == 0) {
      own.fail("'shared_width' requires shared experts");
    }
    for (const std::int64_t layer : shaped) {
      Dimensions& dimensions = spec.own_dimensions[static_cast<std::size_t>(layer)];
      HeadShape& heads = dimensions.heads;
      heads.kv_heads = kv_heads.value_or(heads.kv_heads);
      if (head_dim) heads.head_dim = heads.value_dim = *head_dim;
      heads.value_dim = value_dim.value_or(heads.value_dim);
      dimensions.mlp_width = mlp_width.value_or(dimensions.mlp_width);
      dimensions.shared_width = shared_width.value_or(dimensions.shared_width);
      check_dimensions(dimensions, spec.source);
      if (values_are_keys && heads.head_dim != heads.value_dim) {
        own.fail("'values_are_keys' requires values of the same size as keys");
      }
      auto& sharing = spec.key_values[static_cast<std::size_t>(layer)];
      sharing.values_are_keys = sharing.values_are_keys || values_are_keys;
      if (from) share_keys_and_values(spec, layer, *from, spec.source);
    }
  }
}

PerLayerInputRule parse_layout_layer_input(LayoutFields fields) {
  PerLayerInputRule rule{.width = {"", fields.required_number("width")},
                         .table = fields.required_text("table"),
                         .projection = fields.required_text("projection"),
                         .projection_norm = fields.required_text("projection_norm"),
                         .gate = fields.required_text("gate"),
                         .up = fields.required_text("up"),
                         .norm = fields.required_text("norm")};
  fields.refuse_unknown();
  return rule;
}

}  // namespace attnscope
