#include "attnscope/model/config/layer_shapes_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/model/config/mask_config.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr const char* kPerLayer = "per_layer_config";
constexpr std::size_t kMaxStages = 16;

/// The settings of one layer in `per_layer_config`.
void override_numbers(Dimensions& own, const json& numbers, const ConfigReader& config,
                      const ConfigKeys& keys) {
  if (!numbers.is_object())
    config.refuse(std::string("'") + kPerLayer + "' does not contain objects");
  const ConfigReader reader(&numbers, config.where());
  for (const auto& [key, value] : numbers.items()) {
    if (key == keys.head_dim.name || key == keys.kv_heads.name) continue;
    throw Error(ErrorKind::unsupported,
                {.file = config.where(),
                 .problem = std::string("'") + kPerLayer + "': different values of '" +
                            verbatim(printable(key)) + "' per layer are not supported"});
  }
  if (const auto head_dim = reader.number({keys.head_dim.name})) {
    own.heads.head_dim = own.heads.value_dim = *head_dim;
  }
  own.heads.kv_heads = reader.number({keys.kv_heads.name}).value_or(own.heads.kv_heads);
}

/// Whether any layer was overridden.
bool read_overrides(std::vector<Dimensions>& own, const ConfigReader& config,
                    const Architecture& architecture) {
  const json* found = config.find(kPerLayer);
  if (found == nullptr || found->empty()) return false;
  if (!architecture.shapes) {
    throw Error(ErrorKind::unsupported,
                {.file = config.where(),
                 .problem = std::string("'") + kPerLayer +
                            "': different numbers per layer are not supported"});
  }
  if (!found->is_object()) config.refuse(std::string("'") + kPerLayer + "' is not an object");
  for (const auto& [name, numbers] : found->items()) {
    const bool digits =
        !name.empty() && name.size() < 9 &&
        std::all_of(name.begin(), name.end(), [](char c) { return '0' <= c && c <= '9'; });
    const std::size_t layer = digits ? std::stoul(name) : own.size();
    if (layer >= own.size()) {
      config.refuse(std::string("'") + kPerLayer + "' contains '" + printable(name) +
                    "', which is not a layer from 0 to " + std::to_string(own.size() - 1));
    }
    override_numbers(own[layer], numbers, config, architecture.keys);
  }
  return true;
}

/// The last layers reuse the keys and values of the last layer of their type before the sharing
/// layers.
void share_last_layers(ModelSpec& spec, const LayerShapeRule& rule, const ConfigReader& config,
                       const std::vector<bool>& windowed) {
  const std::int64_t layers = spec.dimensions.layers;
  const std::int64_t sharing = config.number(rule.sharing_layers, /*least=*/0).value_or(0);
  if (sharing == 0) return;
  if (sharing >= layers) {
    config.refuse("'" + rule.sharing_layers.name + "' is " + std::to_string(sharing) + " of " +
                  counted(layers, "layer"));
  }
  for (std::int64_t layer = layers - sharing; layer < layers; ++layer) {
    const bool kind = windowed[static_cast<std::size_t>(layer)];
    std::int64_t from = layers - sharing - 1;
    while (from >= 0 && windowed[static_cast<std::size_t>(from)] != kind) --from;
    if (from < 0) {
      config.refuse("layer " + std::to_string(layer) +
                    " is configured to reuse keys and values of an earlier layer of its type, but "
                    "there is none");
    }
    share_keys_and_values(spec, layer, from, config.where());
    if (!config.flag(rule.doubles_sharing)) continue;
    Dimensions& own = spec.own_dimensions[static_cast<std::size_t>(layer)];
    own.mlp_width *= 2;
    own.shared_width *= 2;
  }
}

}  // namespace

std::vector<std::int64_t> listed_mlp_widths(const ConfigReader& config,
                                            const Architecture& architecture, std::int64_t layers) {
  const std::string& key = architecture.keys.mlp_width.name;
  const json* found = key.empty() ? nullptr : config.find(key);
  if (found == nullptr || !found->is_array()) return {};
  std::vector<std::int64_t> widths = config.numbers(key, /*least=*/1);
  if (std::ssize(widths) < layers) {
    config.refuse("'" + key + "' lists " + std::to_string(widths.size()) + " of " +
                  counted(layers, "layer"));
  }
  widths.resize(static_cast<std::size_t>(layers));
  return widths;
}

std::vector<Dimensions> read_stages(const ConfigReader& config, const Architecture& architecture) {
  const StageRule& rule = *architecture.stages;
  const ConfigKeys& keys = architecture.keys;
  const auto list = [&](const ConfigList& of) {
    return config.find(of.name) == nullptr ? of.fallback : config.numbers(of.name, /*least=*/1);
  };
  const std::vector<std::int64_t> depths = list(rule.depths), heads = list(rule.heads);
  const std::size_t stages = depths.size();
  if (stages == 0 || stages > kMaxStages) {
    config.refuse("'" + rule.depths.name + "' does not list 1 to " + std::to_string(kMaxStages) +
                  " stages");
  }
  std::vector<std::int64_t> widths;
  if (!rule.widths.name.empty()) widths = list(rule.widths);
  std::vector<double> ratios = config.positives(rule.mlp_ratios);
  const double usual = static_cast<double>(keys.mlp_ratio.fallback.value_or(4));
  for (std::size_t stage = 0; stage < stages; ++stage) {
    if (rule.widths.name.empty()) widths.push_back(config.required(keys.width) << stage);
    if (config.find(rule.mlp_ratios) != nullptr) continue;
    ratios.push_back(config.positive({keys.mlp_ratio.name, usual}).value_or(usual));
  }
  if (widths.size() != stages || heads.size() != stages || ratios.size() != stages) {
    config.refuse("lists of sizes per stage do not have the length of '" + rule.depths.name +
                  "', which is " + std::to_string(stages));
  }
  std::vector<Dimensions> layers;
  std::vector<LayerNumbers> places;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const double mlp_width = ratios[stage] * static_cast<double>(widths[stage]);
    const auto limit = static_cast<double>(kMaxSize);
    if (depths[stage] > kMaxLayers - std::ssize(layers) || widths[stage] > kMaxSize ||
        mlp_width > limit) {
      config.refuse("stage " + std::to_string(stage) + " is above the limits of " +
                    std::to_string(kMaxLayers) + " layers and of sizes of " +
                    std::to_string(kMaxSize));
    }
    Dimensions own{.width = widths[stage], .mlp_width = static_cast<std::int64_t>(mlp_width)};
    if (own.width % heads[stage] != 0) {
      config.refuse("stage " + std::to_string(stage) + ": hidden size " +
                    std::to_string(own.width) + " is not a multiple of " +
                    counted(heads[stage], "head"));
    }
    own.heads.heads = own.heads.kv_heads = heads[stage];
    own.heads.head_dim = own.heads.value_dim = own.width / heads[stage];
    for (std::int64_t inner = 0; inner < depths[stage]; ++inner) {
      places.push_back(
          {.layer = std::ssize(places), .group = static_cast<std::int64_t>(stage), .inner = inner});
      layers.push_back(own);
    }
  }
  const auto shared = std::make_shared<const std::vector<LayerNumbers>>(std::move(places));
  for (Dimensions& own : layers) {
    own.layers = std::ssize(layers);
    own.places = shared;
  }
  return layers;
}

void share_keys_and_values(ModelSpec& spec, std::int64_t layer, std::int64_t from,
                           std::string_view where) {
  const auto refuse = [&](const std::string& problem) {
    throw Error(ErrorKind::format, {.file = std::string(where),
                                    .problem = "layer " + std::to_string(layer) +
                                               " cannot reuse the keys and values of layer " +
                                               std::to_string(from) + ", " + problem});
  };
  const auto layers = static_cast<std::size_t>(spec.dimensions.layers);
  if (from < 0 || from >= layer) refuse("which is not an earlier layer");
  if (spec.own_dimensions.empty()) spec.own_dimensions.assign(layers, spec.dimensions);
  spec.key_values.resize(layers);
  const HeadShape &own = spec.dimensions_of(layer).heads, &theirs = spec.dimensions_of(from).heads;
  if (own.kv_heads != theirs.kv_heads || own.head_dim != theirs.head_dim ||
      own.value_dim != theirs.value_dim) {
    refuse("whose heads have another shape");
  }
  if (spec.key_values[static_cast<std::size_t>(from)].from)
    refuse("which reuses those of another layer");
  spec.key_values[static_cast<std::size_t>(layer)].from = from;
}

void read_layer_shapes(ModelSpec& spec, const ConfigReader& config) {
  const Architecture& architecture = spec.architecture;
  if (architecture.stages) {
    spec.own_dimensions = read_stages(config, architecture);
    return;
  }
  const std::int64_t layers = spec.dimensions.layers;
  const LayerShapeRule rule = architecture.shapes.value_or(LayerShapeRule{});
  const std::vector<bool> windowed = windowed_layers(architecture, config, layers);
  std::vector<Dimensions> own(static_cast<std::size_t>(layers), spec.dimensions);

  const std::vector<std::int64_t> widths = listed_mlp_widths(config, architecture, layers);
  for (std::size_t layer = 0; layer < widths.size(); ++layer) own[layer].mlp_width = widths[layer];
  bool differ = !widths.empty();

  const bool same_matrix = config.flag(rule.values_are_keys);
  if (same_matrix) spec.key_values.resize(own.size());
  const auto full_kv_heads = same_matrix ? config.number(rule.full_kv_heads) : std::nullopt;
  const auto full_head_dim = config.number(rule.full_head_dim);
  const bool overridden = config.has(kPerLayer);
  for (std::size_t layer = 0; layer < own.size(); ++layer) {
    if (windowed[layer]) continue;
    if (same_matrix) spec.key_values[layer].values_are_keys = true;
    if (overridden) continue;
    HeadShape& heads = own[layer].heads;
    heads.head_dim = heads.value_dim = full_head_dim.value_or(heads.head_dim);
    heads.kv_heads = full_kv_heads.value_or(heads.kv_heads);
    differ = differ || full_head_dim || full_kv_heads;
  }
  differ = read_overrides(own, config, architecture) || differ;
  if (differ) {
    for (const Dimensions& each : own) check_dimensions(each, config.where());
    spec.own_dimensions = std::move(own);
  }
  share_last_layers(spec, rule, config, windowed);
}

}  // namespace attnscope
