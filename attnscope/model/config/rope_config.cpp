#include "attnscope/model/config/rope_config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnscope/base/text.h"

namespace attnscope {
namespace {

/// Used if neither the file nor its architecture specifies the context length.
constexpr double kUsualContext = 2048;

RopeScaling scaling_of(const RopeRule& rule, std::string_view name) {
  constexpr std::array<std::pair<std::string_view, RopeScaling>, 8> kNames = {{
      {"default", RopeScaling::none},
      {"mrope", RopeScaling::none},  // images have positions on three axes, text has one
      {"linear", RopeScaling::linear},
      {"dynamic", RopeScaling::dynamic},
      {"llama3", RopeScaling::llama3},
      {"yarn", RopeScaling::yarn},
      {"longrope", RopeScaling::longrope},
      {"proportional", RopeScaling::proportional},
  }};
  if (rule.yarn_is_longrope && (name == "su" || name == "yarn")) return RopeScaling::longrope;
  for (const auto& [known, scaling] : kNames) {
    if (known == name) return scaling;
  }
  return RopeScaling::unknown;
}

/// Reads one layer type. `parameters` is rope_parameters or rope_scaling, and may be absent.
/// `reads_type`: accepts the old key `type` for the scaling type.
Rope read_rope(const RopeRule& rule, const ConfigReader& config, const ConfigReader& parameters,
               const Dimensions& dimensions, bool reads_type = true) {
  Rope rope{.fraction = rule.fraction,
            .half_truncated = rule.half_truncated,
            .dimensions = config.number(rule.dimensions),
            .pairs = config.flag(rule.neighbors) ? RotaryPairs::neighbors : RotaryPairs::halves,
            .last = dimensions.mla.has_value(),
            .alpha = parameters.positive({rule.alpha_key})};
  if (dimensions.mla) rope.dimensions = dimensions.heads.shared_key_dim;
  if (rope.dimensions.value_or(0) > dimensions.heads.head_dim) {
    config.refuse("'" + rule.dimensions.name + "' exceeds the " +
                  counted(dimensions.heads.head_dim, "dimension") + " of a head");
  }
  std::string kind = parameters.text("rope_type");
  if (kind.empty() && reads_type) kind = parameters.text("type");
  if (!kind.empty()) rope.scaling_name = kind;
  rope.scaling = scaling_of(rule, rope.scaling_name);
  const auto own = [&](const char* key, double fallback) {
    return parameters.positive({key, fallback}).value_or(fallback);
  };
  const double theta = config.positive({rule.theta_key, rule.theta}).value_or(rule.theta);
  rope.theta = own("rope_theta", theta) * config.positive(rule.theta_times).value_or(1);
  if (!rule.fraction_key.empty()) {
    const double share =
        config.positive({rule.fraction_key, rule.fraction}).value_or(rule.fraction);
    rope.fraction = std::min(1.0, own("partial_rotary_factor", share));
  }
  if (rope.scaling == RopeScaling::proportional) {
    rope.fraction = std::min(1.0, own("partial_rotary_factor", rule.fraction));
  }
  rope.factor = parameters.positive({"factor"});
  rope.context = dimensions.context ? static_cast<double>(*dimensions.context) : kUsualContext;
  const char* original = "original_max_position_embeddings";
  const double standard =
      rule.original_context > 0 ? static_cast<double>(rule.original_context) : rope.context;
  rope.original_context = config.positive({original}).value_or(own(original, standard));
  rope.low_freq_factor = own("low_freq_factor", rope.low_freq_factor);
  rope.high_freq_factor = own("high_freq_factor", rope.high_freq_factor);
  rope.beta_fast = own("beta_fast", rope.beta_fast);
  rope.beta_slow = own("beta_slow", rope.beta_slow);
  rope.truncate = parameters.flag({"truncate", true});
  rope.mscale = parameters.real({"mscale"});
  rope.mscale_all_dim = parameters.real({"mscale_all_dim"});
  rope.attention_factor = parameters.positive({"attention_factor"});
  rope.short_factor = parameters.positives("short_factor");
  rope.long_factor = parameters.positives("long_factor");
  if (rule.gains_by_length && rope.scaling != RopeScaling::none) {
    rope.short_factors_only = true;
    rope.short_gain = parameters.positive({"short_mscale"});
    rope.long_gain = parameters.positive({"long_mscale"});
  }
  return rope;
}

/// Returns the value of the key in older files; null if there is none.
const nlohmann::json* old_scaling(const ConfigReader& config) {
  if (!config.object("rope_scaling").exists()) return nullptr;
  const nlohmann::json* scaling = config.find("rope_scaling");
  return scaling->empty() ? nullptr : scaling;
}

/// For each layer, whether it has RoPE.
std::vector<bool> rotated_layers(const Architecture& architecture, const ConfigReader& config,
                                 const std::vector<bool>& windowed) {
  const std::vector<bool> all(windowed.size(), true);
  switch (architecture.rope->layers) {
    case RotatedLayers::all: break;
    case RotatedLayers::windowed: return windowed;
    case RotatedLayers::windowed_if_sized:
      return config.number(architecture.window->size) ? windowed : all;
    case RotatedLayers::listed: return listed_rotation(*architecture.rope, config, all.size());
  }
  return all;
}

}  // namespace

std::vector<bool> listed_rotation(const RopeRule& rule, const ConfigReader& config,
                                  std::size_t layers) {
  const std::vector<std::int64_t> listed = config.numbers(rule.layer_list, /*least=*/0);
  if (!listed.empty() && listed.size() < layers) {
    config.refuse("'" + rule.layer_list + "' lists " + std::to_string(listed.size()) + " of " +
                  counted(layers, "layer"));
  }
  const std::int64_t interval = config.required(rule.interval);
  std::vector<bool> rotated;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const bool by_interval = static_cast<std::int64_t>(layer + 1) % interval != 0;
    rotated.push_back(listed.empty() ? by_interval : listed[layer] != 0);
  }
  return rotated;
}

ConfigReader rope_parameters(const Architecture& architecture, const ConfigReader& config,
                             nlohmann::json& standard) {
  const bool scaled = old_scaling(config) != nullptr;
  const ConfigReader own = config.object(scaled ? "rope_scaling" : "rope_parameters");
  if (own.exists() || !architecture.rope || architecture.rope->standard.empty()) return own;
  standard = nlohmann::json::parse(architecture.rope->standard);
  return ConfigReader(&standard, config.where());
}

std::vector<std::optional<Rope>> read_ropes(const Architecture& architecture,
                                            const ConfigReader& config,
                                            const std::vector<bool>& windowed,
                                            const Dimensions& dimensions) {
  if (!architecture.rope) return std::vector<std::optional<Rope>>(windowed.size());
  const RopeRule& rule = *architecture.rope;
  ConfigReader parameters = config.object("rope_parameters");
  nlohmann::json standard;
  if (!parameters.exists() && !rule.standard.empty()) {
    standard = nlohmann::json::parse(rule.standard);
    parameters = ConfigReader(&standard, config.where());
  }
  ConfigReader of_full = parameters.object("full_attention");
  ConfigReader of_windowed = parameters.object("sliding_attention");
  const bool by_kind = of_full.exists() || of_windowed.exists();
  const nlohmann::json* scaling = old_scaling(config);
  const bool scaled = scaling != nullptr;
  if (!by_kind) of_full = rope_parameters(architecture, config, standard);
  // Source: in Gemma3TextConfig, an old rope_scaling next to new parameters overrides those of full
  // layers; in ModernBertConfig, those of all layers.
  nlohmann::json merged_full, merged_windowed;
  const auto lay_over = [&](const char* kind, nlohmann::json& merged, ConfigReader& of_kind) {
    const nlohmann::json* own = parameters.find(kind);
    merged = own != nullptr && own->is_object() ? *own : nlohmann::json::object();
    merged.update(*scaling);
    of_kind = ConfigReader(&merged, config.where());
  };
  if (by_kind && scaled && !rule.local_theta_key.empty()) {
    lay_over("full_attention", merged_full, of_full);
  }
  if (scaled && rule.scaling_is_of_all) {
    lay_over("sliding_attention", merged_windowed, of_windowed);
  }

  // For Gemma 3's rope_scaling, transformers reads only the new name.
  const bool reads_type = by_kind || !scaled || rule.local_theta_key.empty();
  const Rope full = read_rope(rule, config, of_full, dimensions, reads_type);
  Rope local = full;
  if (of_windowed.exists()) {
    local = read_rope(rule, config, of_windowed, dimensions, reads_type);
  } else if (!rule.local_theta_key.empty()) {
    const bool proportional = full.scaling == RopeScaling::proportional;
    local = {.fraction = proportional ? 1 : full.fraction,
             .context = full.context,
             .original_context = full.original_context};
  }
  if (!by_kind && !rule.scales_windowed) {
    local.scaling = RopeScaling::none;
    local.scaling_name = "default";
    local.theta = rule.theta;  // Olmo3Config applies the file's base only to full layers
  }
  if (!rule.local_theta_key.empty()) {
    const double theta =
        config.positive({rule.local_theta_key, rule.local_theta}).value_or(rule.local_theta);
    local.theta = of_windowed.positive({"rope_theta", theta}).value_or(theta);
  }
  const std::vector<bool> rotated = rotated_layers(architecture, config, windowed);
  std::vector<std::optional<Rope>> ropes;
  for (std::size_t layer = 0; layer < windowed.size(); ++layer) {
    auto& rope = ropes.emplace_back();
    if (rotated[layer]) rope = windowed[layer] ? local : full;
  }
  return ropes;
}

}  // namespace attnscope
