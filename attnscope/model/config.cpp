// config.json, as transformers wrote it before version 5 and since.
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "attnscope/core/error.h"
#include "attnscope/core/strict_json.h"
#include "attnscope/core/text.h"
#include "attnscope/model/known_architectures.h"
#include "attnscope/model/spec.h"

namespace attnscope {
namespace {

using nlohmann::json;

std::string text_field(const json& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && found->is_string() ? found->get<std::string>() : "";
}

[[noreturn]] void refuse(std::string_view file, std::string problem) {
  throw Error(ErrorKind::format, {.file = std::string(file), .problem = std::move(problem)});
}

/// Multimodal files nest the language model; null where nothing is nested.
const json* nested_language(const json& config) {
  const auto nested = config.find("text_config");
  return nested != config.end() && nested->is_object() ? &*nested : nullptr;
}

bool is_multimodal(const json& config) {
  constexpr std::array kKeys = {"text_config", "vision_config", "audio_config", "mm_vision_tower"};
  return std::any_of(kKeys.begin(), kKeys.end(),
                     [&](const char* key) { return config.contains(key); });
}

/// Names near those of known architectures that are no slips of them.
constexpr std::array<std::string_view, 9> kOthers = {"llava",    "llama4",    "gptj",
                                                     "gemma3n",  "mistral3",  "phimoe",
                                                     "qwen2_vl", "qwen2_moe", "qwen3_moe"};

const Architecture& find_architecture(const json& config, std::string_view where) {
  const std::string model_type = text_field(config, "model_type");
  if (const auto* found = find_architecture_by_type(model_type)) return *found;

  std::string named = model_type;
  const auto classes = config.find("architectures");
  if (classes != config.end() && classes->is_array()) {
    for (const json& name : *classes) {
      if (!name.is_string()) continue;
      const auto& text = name.get_ref<const std::string&>();
      if (const auto* found = find_architecture_by_class(text)) return *found;
      if (named.empty()) named = text;
    }
  }
  if (named.empty()) {
    refuse(where, "says no model_type and no architectures");
  }
  std::string problem = "architecture '" + verbatim(named) + "' is not known";
  const std::vector<std::string> names = architecture_names();
  if (is_multimodal(config)) {
    const json* language = nested_language(config);
    const std::string type = language == nullptr ? "" : text_field(*language, "model_type");
    problem += " (a multimodal model";
    problem += type.empty() ? ")" : "; its language model is '" + verbatim(type) + "')";
  } else if (std::find(kOthers.begin(), kOthers.end(), named) == kOthers.end()) {
    problem += verbatim(suggestion(named, names));
  }
  throw Error(ErrorKind::unsupported, {.file = std::string(where),
                                       .problem = problem + "; known: " + join(names),
                                       .hint = "describe others with {layout} FILE.json"});
}

/// Nothing where the key is absent or null and has no fallback.
std::optional<std::int64_t> read_number(const json& config, const ConfigKey& key,
                                        std::string_view where) {
  if (key.name.empty()) return key.fallback;
  const auto found = config.find(key.name);
  if (found == config.end() || found->is_null()) return key.fallback;
  if (!found->is_number_integer() || found->get<std::int64_t>() < 1 ||
      found->get<std::int64_t>() > kMaxSize) {
    refuse(where, "'" + key.name + "' is " + verbatim(found->dump(-1, ' ', true)) +
                      ", expected a whole number from 1 to " + std::to_string(kMaxSize));
  }
  return found->get<std::int64_t>();
}

std::int64_t require_number(const json& config, const ConfigKey& key, std::string_view where) {
  const auto number = read_number(config, key, where);
  if (!number) refuse(where, "has no '" + key.name + "'");
  return *number;
}

std::int64_t default_head_dim(std::int64_t width, std::int64_t heads, std::string_view where) {
  if (width % heads != 0) {
    refuse(where, "width " + std::to_string(width) + " is no multiple of " + std::to_string(heads) +
                      " heads, and no head dimension is given");
  }
  return width / heads;
}

Dimensions read_dimensions(const json& config, const ConfigKeys& keys, std::string_view where) {
  Dimensions out;
  out.width = require_number(config, keys.width, where);
  out.layers_per_group = require_number(config, keys.layers_per_group, where);
  if (!keys.layer_groups.name.empty()) {
    out.layer_groups = require_number(config, keys.layer_groups, where);
  }
  out.layers = require_number(config, keys.layers, where) * out.layers_per_group;

  HeadShape& heads = out.heads;
  heads.heads = require_number(config, keys.heads, where);
  heads.kv_heads = read_number(config, keys.kv_heads, where).value_or(heads.heads);
  const auto head_dim = read_number(config, keys.head_dim, where);
  heads.head_dim = head_dim ? *head_dim : default_head_dim(out.width, heads.heads, where);
  heads.value_dim = heads.head_dim;

  out.mlp_width = read_number(config, keys.mlp_width, where).value_or(4 * out.width);
  out.vocabulary = read_number(config, keys.vocabulary, where);
  out.context = read_number(config, keys.context, where);
  return out;
}

/// A positive number, from the first of `places` that has it.
double read_positive(std::initializer_list<const json*> places, const std::string& key,
                     double fallback, std::string_view where) {
  for (const json* place : places) {
    if (place == nullptr || key.empty()) continue;
    const auto found = place->find(key);
    if (found == place->end() || found->is_null()) continue;
    const double value = found->is_number() ? found->get<double>() : 0;
    if (!(value > 0) || !std::isfinite(value)) {
      refuse(where, "'" + key + "' is " + verbatim(found->dump(-1, ' ', true)) +
                        ", expected a positive number");
    }
    return value;
  }
  return fallback;
}

const json* find_object(const json* parent, const char* key) {
  if (parent == nullptr) return nullptr;
  const auto found = parent->find(key);
  return found != parent->end() && found->is_object() ? &*found : nullptr;
}

/// One kind of layer. `parameters` is rope_parameters or rope_scaling (whose kind was once called
/// `type`), or null where the file has neither.
Rope read_rope(const json& config, const json* parameters, const RopeRule& rule,
               std::string_view where) {
  Rope rope{.fraction = rule.fraction};
  if (parameters != nullptr) {
    for (const char* key : {"type", "rope_type"}) {
      const std::string named = text_field(*parameters, key);
      if (!named.empty()) rope.scaling = named;
    }
  }
  const auto number = [&](const std::string& key, double fallback) {
    return read_positive({parameters, &config}, key, fallback, where);
  };
  rope.theta = number("rope_theta", number(rule.theta_key, rule.theta));
  rope.fraction =
      std::min(1.0, number("partial_rotary_factor", number(rule.fraction_key, rule.fraction)));
  rope.factor = number("factor", rope.factor);
  rope.low_freq_factor = number("low_freq_factor", rope.low_freq_factor);
  rope.high_freq_factor = number("high_freq_factor", rope.high_freq_factor);
  rope.original_context = number("original_max_position_embeddings",
                                 number("max_position_embeddings", rope.original_context));
  return rope;
}

/// Which layers see a window only; all false where the architecture has one kind of layer.
std::vector<bool> local_layers(const json& config, const RopeRule& rule, std::int64_t layers,
                               std::string_view where) {
  std::vector<bool> local(static_cast<std::size_t>(layers), false);
  const auto types = config.find("layer_types");
  if (types != config.end() && types->is_array()) {
    if (types->size() < local.size()) {
      refuse(where, "'layer_types' lists " + std::to_string(types->size()) + " of " +
                        std::to_string(layers) + " layers");
    }
    for (std::size_t layer = 0; layer < local.size(); ++layer) {
      local[layer] = (*types)[layer] == "sliding_attention";
    }
    return local;
  }
  if (rule.pattern == 0) return local;
  const std::int64_t pattern =
      read_number(config, {rule.pattern_key, rule.pattern}, where).value_or(rule.pattern);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    local[static_cast<std::size_t>(layer)] = (layer + 1) % pattern != 0;
  }
  return local;
}

/// Source: transformers, modeling_rope_utils.py, and Gemma3TextConfig for two kinds of layers.
std::vector<Rope> read_ropes(const json& config, const RopeRule& rule, std::int64_t layers,
                             std::string_view where) {
  const json* parameters = find_object(&config, "rope_parameters");
  const json* of_global = find_object(parameters, "full_attention");
  const json* of_local = find_object(parameters, "sliding_attention");
  const bool by_type = of_global != nullptr || of_local != nullptr;
  if (!by_type) of_global = parameters;
  if (of_global == nullptr) of_global = find_object(&config, "rope_scaling");

  const Rope global = read_rope(config, of_global, rule, where);
  if (!by_type && rule.local_theta_key.empty()) {
    return std::vector<Rope>(static_cast<std::size_t>(layers), global);
  }
  Rope local = global;
  if (by_type && of_local != nullptr) {
    local = read_rope(config, of_local, rule, where);
  } else if (!rule.local_theta_key.empty()) {
    local = Rope{.fraction = global.fraction};
  }
  if (!rule.local_theta_key.empty()) {
    const double theta = read_positive({&config}, rule.local_theta_key, rule.local_theta, where);
    local.theta = read_positive({of_local}, "rope_theta", theta, where);
  }
  std::vector<Rope> ropes;
  for (const bool is_local : local_layers(config, rule, layers, where)) {
    ropes.push_back(is_local ? local : global);
  }
  return ropes;
}

/// As messages name it. bitsandbytes once wrote no `quant_method`.
std::string quantization_method(const json& quantization) {
  const std::string method = text_field(quantization, "quant_method");
  if (!method.empty()) return method;
  for (const char* key : {"load_in_8bit", "load_in_4bit"}) {
    if (quantization.value(key, json()) == true) return "bitsandbytes";
  }
  return "unnamed method";
}

}  // namespace

ModelSpec parse_config(std::string_view text, std::string_view where) {
  const json config = parse_json(text, where);
  if (!config.is_object()) refuse(where, "is not a JSON object");

  const Architecture& architecture = find_architecture(config, where);
  const json* nested = nested_language(config);
  const json& language = nested != nullptr ? *nested : config;

  ModelSpec spec{.architecture = architecture,
                 .dimensions = read_dimensions(language, architecture.keys, where),
                 .tied = architecture.tied_by_default,
                 .source = std::string(where)};
  check_dimensions(spec.dimensions, where);
  if (architecture.rope) {
    spec.rope = read_ropes(language, *architecture.rope, spec.dimensions.layers, where);
  }
  if (architecture.norm && !architecture.norm->first_key.empty()) {
    const auto first = language.find(architecture.norm->first_key);
    if (first != language.end() && first->is_boolean()) spec.norm_first = first->get<bool>();
  }
  for (const json* level : {&config, &language}) {
    const auto tied = level->find("tie_word_embeddings");
    if (tied != level->end() && tied->is_boolean()) spec.tied = tied->get<bool>();
    const auto quantization = level->find("quantization_config");
    if (quantization != level->end() && quantization->is_object()) {
      spec.quantization = quantization_method(*quantization);
    }
  }
  return spec;
}

}  // namespace attnscope
