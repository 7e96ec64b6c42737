#include "attnscope/model/config/expert_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "attnscope/base/text.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// Returns the value of the first of the keys that the file has, with its name. If the file has
/// none of them, the name is that of the first key.
struct NamedNumber {
  std::string name;
  std::optional<std::int64_t> value;
};

NamedNumber first_number(const ConfigReader& config, const std::vector<std::string>& names,
                         std::optional<std::int64_t> fallback, std::int64_t least) {
  for (const std::string& name : names) {
    if (!config.has(name)) continue;
    const json* found = config.find(name);
    if (found == nullptr || !found->is_array()) return {name, config.number({name}, least)};
    // Files of HunYuan list one number per layer.
    const std::vector<std::int64_t> listed = config.numbers(name, least);
    if (listed.empty() ||
        std::count(listed.begin(), listed.end(), listed.front()) != std::ssize(listed)) {
      config.refuse("'" + name + "': different values per layer are not supported");
    }
    return {name, listed.front()};
  }
  return {names.empty() ? "" : names.front(), fallback};
}

/// The layers in a list, each from 0 to `layers` - 1. Other numbers are ignored, as in
/// transformers.
std::vector<bool> layers_in(const ConfigReader& config, const std::string& key,
                            std::size_t layers) {
  std::vector<bool> named(layers, false);
  const json* found = config.find(key);
  if (found == nullptr) return named;
  const auto is_number = [](const json& layer) { return layer.is_number_unsigned(); };
  if (!found->is_array() || !std::all_of(found->begin(), found->end(), is_number)) {
    config.refuse("'" + key + "' is not a list of layers");
  }
  for (const json& layer : *found) {
    const auto number = layer.get<std::uint64_t>();
    if (number < layers) named[number] = true;
  }
  return named;
}

std::vector<bool> typed_layers(const ConfigReader& config, const std::string& key,
                               std::size_t layers) {
  const std::vector<std::string> types = config.texts(key);
  std::vector<bool> sparse;
  for (const std::string& type : types) {
    if (type != "sparse" && type != "dense") {
      config.refuse("'" + key + "' contains values other than \"sparse\" and \"dense\"");
    }
    if (sparse.size() < layers) sparse.push_back(type == "sparse");
  }
  if (sparse.size() < layers) {
    config.refuse("'" + key + "' lists " + std::to_string(sparse.size()) + " of " +
                  counted(layers, "layer"));
  }
  return sparse;
}

std::vector<bool> read_expert_layers(const ExpertLayersRule& rule, const ConfigReader& config,
                                     const Dimensions& dimensions) {
  const std::int64_t layers = dimensions.layers;
  const auto count = static_cast<std::size_t>(layers);
  if (rule.by_kind) {
    std::vector<bool> sparse(count);
    for (std::size_t layer = 0; dimensions.mixers != nullptr && layer < count; ++layer) {
      sparse[layer] = dimensions.mixers->layers[layer].after == AfterMixer::experts;
    }
    return sparse;
  }
  if (config.find(rule.types) != nullptr) return typed_layers(config, rule.types, count);
  if (config.find(rule.listed) != nullptr) return layers_in(config, rule.listed, count);
  const std::int64_t every = config.number(rule.every).value_or(1);
  const std::int64_t offset = config.number(rule.offset, /*least=*/0).value_or(every - 1);
  const std::int64_t first = config.number(rule.first, /*least=*/0).value_or(0);
  std::int64_t last = config.number(rule.last, /*least=*/-1).value_or(-1);
  if (last == -1) last = layers - 1;
  const std::vector<bool> dense = layers_in(config, rule.dense, count);
  std::vector<bool> sparse;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    sparse.push_back(layer % every == offset && layer >= first && layer <= last &&
                     !dense[static_cast<std::size_t>(layer)]);
  }
  return sparse;
}

void check_groups(const ExpertSpec& spec, std::int64_t experts, const ConfigReader& config) {
  const auto groups = [](std::int64_t count) { return counted(count, "group"); };
  if (spec.groups == 1 && spec.kept_mlp_groups == 1) return;
  if (experts % spec.groups != 0) {
    config.refuse(counted(experts, "expert") + " cannot be divided into " + groups(spec.groups) +
                  " of the same size");
  }
  const std::int64_t size = experts / spec.groups;
  if (spec.kept_mlp_groups > spec.groups) {
    config.refuse("selects " + std::to_string(spec.kept_mlp_groups) + " of " + groups(spec.groups) +
                  " of experts");
  }
  if (spec.group_score == GroupScore::sum_of_two_best && size < 2) {
    config.refuse("groups of 1 expert cannot be scored by their two best experts");
  }
  if (spec.kept_mlp_groups * size < spec.chosen) {
    config.refuse("selects " + std::to_string(spec.chosen) + " experts from " +
                  groups(spec.kept_mlp_groups) + " of " + std::to_string(size));
  }
}

}  // namespace

void read_expert_dimensions(ModelSpec& spec, const ConfigReader& config) {
  if (spec.architecture.experts == nullptr) return;
  const MoeRule& rule = *spec.architecture.experts;
  Dimensions& dimensions = spec.dimensions;
  const NamedNumber experts = first_number(config, rule.experts, rule.default_experts, /*least=*/0);
  if (!experts.value) config.refuse("has no '" + experts.name + "'");
  if (*experts.value > kMaxExperts) {
    config.refuse(std::to_string(*experts.value) + " experts exceed the limit of " +
                  std::to_string(kMaxExperts));
  }
  if (*experts.value <= rule.dense_up_to) return;
  std::vector<bool> sparse = read_expert_layers(rule.layers, config, dimensions);
  const auto has = [&](bool value) {
    return std::find(sparse.begin(), sparse.end(), value) != sparse.end();
  };
  if (!has(true)) return;
  dimensions.experts = *experts.value;
  dimensions.expert_width = config.required(rule.width);
  dimensions.expert_inputs = config.number(rule.inputs).value_or(dimensions.width);
  if (!has(false)) dimensions.mlp_width = 0;
  dimensions.shared_width = config.number(rule.shared_width, /*least=*/0).value_or(0);
  const std::int64_t shared = config.number(rule.shared_count, /*least=*/0).value_or(0);
  if (shared > kMaxSize / dimensions.expert_width) {
    config.refuse(counted(shared, "shared expert") + " of width " +
                  std::to_string(dimensions.expert_width) + " exceed the limit of " +
                  std::to_string(kMaxSize));
  }
  dimensions.shared_width += shared * dimensions.expert_width;
  spec.expert_layers = std::move(sparse);
}

ExpertSpec read_experts(const ModelSpec& spec, const ConfigReader& config) {
  const MoeRule& rule = *spec.architecture.experts;
  const std::int64_t experts = spec.dimensions.experts;
  const NamedNumber chosen = first_number(config, rule.chosen, rule.default_chosen, /*least=*/1);
  if (!chosen.value) config.refuse("has no '" + chosen.name + "'");
  ExpertSpec out{.chosen = *chosen.value,
                 .score = rule.score,
                 .jitter = config.real(rule.jitter).value_or(0),
                 .choice_bias = rule.choice_bias,
                 .groups = config.number(rule.groups).value_or(1),
                 .kept_mlp_groups = config.number(rule.kept_mlp_groups).value_or(1),
                 .group_score = rule.group_score,
                 .normalize = config.flag(rule.normalize),
                 .normalize_epsilon = rule.normalize_epsilon,
                 .normalize_least = config.real(rule.normalize_least).value_or(0),
                 .times = config.real(rule.times).value_or(1),
                 .weighs_input = rule.weighs_input,
                 .clamp = config.positive(rule.clamp),
                 .alpha = config.real(rule.alpha).value_or(1),
                 .shared_weight = spec.dimensions.shared_width > 0 ? rule.shared_weight : "",
                 .expert_factors = rule.expert_factors,
                 .norms = rule.norms};
  if (config.number(rule.inputs)) {
    out.latent_down = rule.latent_down;
    out.latent_up = rule.latent_up;
  }
  if (!rule.grouped.key.empty() && !config.meets(rule.grouped))
    out.groups = out.kept_mlp_groups = 1;
  if (out.chosen > experts) {
    config.refuse("selects " + std::to_string(out.chosen) + " of " + counted(experts, "expert"));
  }
  if (out.score == RouterScore::sparsemixer && out.chosen != 2) {
    config.refuse("selects " + counted(out.chosen, "expert") +
                  ", but its router type always selects 2");
  }
  check_groups(out, experts, config);
  return out;
}

}  // namespace attnscope
