#include "attnscope/model/config/mask_config.h"

#include <nlohmann/json.hpp>
#include <string>

#include "attnscope/base/text.h"
#include "attnscope/model/config/rope_config.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr const char* kLayerTypes = "layer_types";
constexpr const char* kIsCausal = "is_causal";

/// GPT-Neo's layer types: a list of types, or lists that are repeated.
std::vector<bool> listed_kinds(const ConfigReader& config, std::size_t layers) {
  std::vector<bool> local;
  std::string key = "attention_layers";
  const auto add = [&](const json& kinds) {
    for (const json& kind : kinds) {
      if (kind != "local" && kind != "global") {
        config.refuse("'" + key + "' contains values other than \"local\" and \"global\"");
      }
      if (local.size() < layers) local.push_back(kind == "local");
    }
  };
  if (config.find(key) != nullptr) {
    add(config.texts(key));
  } else if (const json* types = config.find("attention_types")) {
    key = "attention_types";
    for (const json& entry : *types) {
      const bool audio = entry.is_array() && entry.size() == 2 && entry[0].is_array() &&
                         entry[1].is_number_unsigned();
      if (!audio) config.refuse("'attention_types' is not [[[kinds], repeats], …]");
      const auto repeats = entry[1].get<std::uint64_t>();
      for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
        if (local.size() >= layers || entry[0].empty()) break;
        add(entry[0]);
      }
    }
  } else {
    while (local.size() < layers) local.push_back(local.size() % 2 == 1);
  }
  if (local.size() < layers) {
    config.refuse("'" + key + "' lists " + std::to_string(local.size()) + " of " +
                  counted(layers, "layer"));
  }
  return local;
}

const char* windowed_type(const WindowRule& rule) {
  return rule.chunked ? "chunked_attention" : "sliding_attention";
}

std::optional<std::vector<bool>> by_layer_types(const WindowRule& rule, const ConfigReader& config,
                                                std::size_t layers) {
  if (config.find(kLayerTypes) == nullptr) return std::nullopt;
  const std::vector<std::string> types = config.texts(kLayerTypes);
  if (types.size() < layers) {
    config.refuse("'layer_types' lists " + std::to_string(types.size()) + " of " +
                  counted(layers, "layer"));
  }
  std::vector<bool> windowed;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    windowed.push_back(types[layer] == windowed_type(rule));
  }
  return windowed;
}

/// Returns why layers of the listed types are not supported; empty if they are.
std::string unknown_layer_type(const Architecture& architecture, const ConfigReader& config) {
  if (!architecture.window || !architecture.window->reads_layer_types) return "";
  for (const std::string& type : config.texts(kLayerTypes)) {
    if (type != windowed_type(*architecture.window) && type != "full_attention") {
      return "layer type '" + printable(type) + "' is not known";
    }
  }
  return "";
}

/// Source: transformers 5.23, masking_utils.py, create_causal_mask. Masks of encoders ignore the
/// setting.
bool is_causal_is_false(const Architecture& architecture, const ConfigReader& config) {
  return architecture.bidirectional.by_is_causal && config.find(kIsCausal) != nullptr &&
         !config.flag({kIsCausal});
}

/// Returns a setting for which the eager and the SDPA attention of transformers use different
/// masks; empty if there is none.
std::string unclear_mask(const Architecture& architecture, const ConfigReader& config) {
  const Bidirectional& bidirectional = architecture.bidirectional;
  const auto unclear = [](const std::string& key, const char* value) {
    return "'" + key + "' is " + value +
           ", which the eager and SDPA attention of transformers interpret differently";
  };
  const bool is_null = config.has(kIsCausal) && config.find(kIsCausal) == nullptr;
  const bool decoder = config.flag(architecture.causal);
  if (decoder && bidirectional.by_is_causal && is_null) return unclear(kIsCausal, "null");
  if (!decoder && bidirectional.by_is_causal && config.flag({kIsCausal})) {
    return unclear(kIsCausal, "true");
  }
  if (config.flag(bidirectional.unclear) && !is_causal_is_false(architecture, config)) {
    return unclear(bidirectional.unclear.name, "true");
  }
  return "";
}

bool is_met(const ConfigCondition& condition, const ConfigReader& config) {
  return !condition.key.empty() && config.meets(condition);
}

/// Returns how many keys before a query, and after it if attention is bidirectional, a window of W
/// tokens allows.
std::int64_t reach_of(std::int64_t window, bool causal, const Architecture& architecture,
                      const ConfigReader& config) {
  if (causal) return window - 1;
  if (is_met(architecture.bidirectional.condition, config)) return window / 2 + 1;
  if (!is_causal_is_false(architecture, config)) return window / 2;
  // Gemma3TextConfig halves its window. It adds 1, because masks with is_causal include the bound.
  return config.flag(architecture.bidirectional.flag) ? window / 2 + 1 : window;
}

/// Returns W of each layer: one number, or a list of numbers (Longformer).
std::vector<std::optional<std::int64_t>> window_sizes(const WindowRule& rule,
                                                      const ConfigReader& config,
                                                      std::size_t layers) {
  const json* found = config.find(rule.size.name);
  if (found == nullptr || !found->is_array()) {
    return std::vector<std::optional<std::int64_t>>(layers, config.number(rule.size));
  }
  const std::vector<std::int64_t> listed = config.numbers(rule.size.name, /*least=*/1);
  if (listed.size() < layers) {
    config.refuse("'" + rule.size.name + "' lists " + std::to_string(listed.size()) + " of " +
                  counted(layers, "layer"));
  }
  return {listed.begin(), listed.begin() + static_cast<std::ptrdiff_t>(layers)};
}

std::vector<bool> kinds_of_layers(const Architecture& architecture, const ConfigReader& config,
                                  std::int64_t layers) {
  std::vector<bool> windowed(static_cast<std::size_t>(layers), false);
  if (!architecture.window) return windowed;
  const WindowRule& rule = *architecture.window;
  if (!config.flag(rule.enabled)) return windowed;
  if (rule.reads_layer_types) {
    if (auto listed = by_layer_types(rule, config, windowed.size())) return *std::move(listed);
  }
  if (rule.layers == WindowedLayers::listed_kinds) return listed_kinds(config, windowed.size());
  if (rule.layers == WindowedLayers::rotated || rule.layers == WindowedLayers::unrotated) {
    windowed = listed_rotation(*architecture.rope, config, windowed.size());
    if (rule.layers == WindowedLayers::unrotated) windowed.flip();
    return windowed;
  }
  const std::int64_t number = config.number(rule.number, /*least=*/0).value_or(0);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    bool is_windowed = true;
    if (rule.layers == WindowedLayers::even) is_windowed = layer % 2 == 0;
    if (rule.layers == WindowedLayers::even_below) is_windowed = layer % 2 == 0 && layer < number;
    if (rule.layers == WindowedLayers::from_layer) is_windowed = layer >= number;
    if (rule.layers == WindowedLayers::but_every) {
      is_windowed = number == 0 || (layer + 1) % number != 0;
    }
    if (rule.layers == WindowedLayers::but_first_of) {
      is_windowed = number == 0 || layer % number != 0;
    }
    windowed[static_cast<std::size_t>(layer)] = is_windowed;
  }
  return windowed;
}

}  // namespace

bool is_causal_model(const Architecture& architecture, const ConfigReader& config) {
  return config.flag(architecture.causal) && !config.flag(architecture.bidirectional.flag) &&
         !is_met(architecture.bidirectional.condition, config) &&
         !is_causal_is_false(architecture, config);
}

std::vector<bool> windowed_layers(const Architecture& architecture, const ConfigReader& config,
                                  std::int64_t layers) {
  std::vector<bool> windowed = kinds_of_layers(architecture, config, layers);
  if (architecture.window && architecture.window->last_is_full) windowed.back() = false;
  return windowed;
}

std::vector<MaskSpec> read_masks(const Architecture& architecture, const ConfigReader& config,
                                 const std::vector<bool>& windowed) {
  const bool causal = is_causal_model(architecture, config);
  std::vector<MaskSpec> masks(windowed.size(), MaskSpec{.causal = causal});
  // If windows are off, files of Qwen2-MoE set their size to 0.
  if (!architecture.window || !config.flag(architecture.window->enabled)) return masks;
  const auto windows = window_sizes(*architecture.window, config, windowed.size());
  for (std::size_t layer = 0; layer < windowed.size(); ++layer) {
    const auto window = windows[layer];
    if (!windowed[layer] || !window) continue;
    if (architecture.window->chunked) {
      masks[layer].chunk = window;
    } else {
      masks[layer].reach = reach_of(*window, causal, architecture, config);
    }
  }
  return masks;
}

std::string unknown_mask(const Architecture& architecture, const ConfigReader& config) {
  std::string unclear = unclear_mask(architecture, config);
  return unclear.empty() ? unknown_layer_type(architecture, config) : unclear;
}

}  // namespace attnscope
