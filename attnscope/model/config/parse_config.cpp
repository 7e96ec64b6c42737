#include "attnscope/model/config/parse_config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/config/expert_config.h"
#include "attnscope/model/config/layer_config.h"
#include "attnscope/model/config/layer_shapes_config.h"
#include "attnscope/model/config/mixer_config.h"
#include "attnscope/model/config/mla_and_indexer_config.h"
#include "attnscope/model/config/models_of_two.h"
#include "attnscope/model/known_architectures.h"
#include "attnscope/model/layout/layout_file.h"
#include "attnscope/model/layout/shipped_layouts.h"
#include "attnscope/model/unsupported_architectures.h"

namespace attnscope {
namespace {

using nlohmann::json;

std::string text_field(const json& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && found->is_string() ? found->get<std::string>() : "";
}

[[noreturn]] void refuse_config(std::string_view file, std::string problem) {
  throw Error(ErrorKind::format, {.file = std::string(file), .problem = std::move(problem)});
}

/// Multimodal files nest the language model. Null if nothing is nested.
const json* nested_language(const json& config) {
  const auto nested = config.find("text_config");
  return nested != config.end() && nested->is_object() ? &*nested : nullptr;
}

bool is_multimodal(const json& config) {
  constexpr std::array kKeys = {"text_config", "vision_config", "audio_config", "mm_vision_tower"};
  return std::any_of(kKeys.begin(), kKeys.end(),
                     [&](const char* key) { return config.contains(key); });
}

/// A language model inside another model: its tensor names have a longer prefix. Files omit sizes
/// that equal those of the first model of the family.
Architecture nested_form(Architecture architecture) {
  architecture.prefixes = {"model.language_model.", "language_model.model.", "language_model.",
                           "model.", ""};
  architecture.head.weight.push_back("language_model.lm_head.weight");
  ConfigKeys& keys = architecture.keys;
  const NestedSizes& sizes = architecture.nested_sizes;
  for (auto& [key, size] : {std::pair{&keys.layers, sizes.layers},
                            {&keys.heads, sizes.heads},
                            {&keys.width, sizes.width},
                            {&keys.mlp_width, sizes.mlp_width},
                            {&keys.vocabulary, sizes.vocabulary},
                            {&keys.context, sizes.context}}) {
    if (!key->fallback && size > 0) key->fallback = size;
  }
  for (Architecture& layout : architecture.layouts) layout = nested_form(std::move(layout));
  return architecture;
}

/// Architectures of transformers whose names are similar to supported ones, but are not
/// misspellings of them.
constexpr std::array<std::string_view, 5> kOthers = {"dpt", "ibert", "llava", "pixtral", "plbart"};

std::string digits_of(std::string text) {
  std::erase_if(text, [](char c) { return c < '0' || c > '9'; });
  return text;
}

/// Returns the supported architecture that a misspelled name stands for. A different number is a
/// different generation: llama4 is not a misspelling of llama.
std::string meant_architecture(const std::string& named, const std::vector<std::string>& names) {
  const auto near = closest(named, names);
  const bool is_other = std::find(kOthers.begin(), kOthers.end(), named) != kOthers.end();
  if (!near || is_other || digits_of(*near) != digits_of(named)) return "";
  return suggestion(named, names);
}

Architecture find_architecture(const json& config, std::string_view where) {
  const std::string model_type = text_field(config, "model_type");
  const json* nested = nested_language(config);
  if (const auto found = find_architecture_by_type(model_type)) {
    return nested == nullptr ? *found : nested_form(*found);
  }
  if (nested != nullptr) {
    const auto found = find_architecture_by_type(text_field(*nested, "model_type"));
    if (found) return nested_form(*found);
  }

  std::string named = model_type;
  const auto classes = config.find("architectures");
  if (classes != config.end() && classes->is_array()) {
    for (const json& name : *classes) {
      if (!name.is_string()) continue;
      const auto& text = name.get_ref<const std::string&>();
      if (auto found = find_architecture_by_class(text)) return *std::move(found);
      if (named.empty()) named = text;
    }
  }
  if (named.empty()) {
    refuse_config(where, "has neither model_type nor architectures");
  }
  std::string problem = "architecture '" + verbatim(named) + "' is not known";
  std::vector<std::string> names = architecture_names();
  for (std::string& type : shipped_layout_types()) names.push_back(std::move(type));
  if (is_multimodal(config)) {
    const json* language = nested_language(config);
    const std::string type = language == nullptr ? "" : text_field(*language, "model_type");
    problem += " (a multimodal model";
    problem += type.empty() ? ")" : "; its language model is '" + verbatim(type) + "')";
  } else {
    problem += verbatim(meant_architecture(named, names));
  }
  if (const std::string_view reason = why_unsupported(named); !reason.empty()) {
    problem += ": " + std::string(reason);
  }
  throw Error(ErrorKind::unsupported,
              {.file = std::string(where),
               .problem = problem + "; known: " + join(names),
               .hint = "describe unknown architectures with {layout} FILE.json"});
}

/// The architecture itself, or the variant that describes files with such a config.
const Architecture& layout_of(const Architecture& architecture, const ConfigReader& config) {
  const auto& layouts = architecture.layouts;
  const auto found = std::find_if(layouts.begin(), layouts.end(), [&](const auto& layout) {
    return std::all_of(layout.conditions.begin(), layout.conditions.end(),
                       [&](const ConfigCondition& each) { return config.meets(each); });
  });
  return found == layouts.end() ? architecture : *found;
}

std::int64_t default_head_dim(std::int64_t width, std::int64_t heads, const ConfigReader& config) {
  if (width % heads != 0) {
    config.refuse("hidden size " + std::to_string(width) + " is not a multiple of " +
                  std::to_string(heads) + " heads, and the head dimension is missing");
  }
  return width / heads;
}

std::int64_t adjusted(std::int64_t width, const AdjustedWidth& rule, const ConfigReader& config) {
  if (!config.flag(rule.enabled)) return width;
  width = static_cast<std::int64_t>(static_cast<double>(2 * width) / 3);
  const auto factor = config.positive(rule.factor);
  if (!factor) return width;
  const std::int64_t multiple = config.required(rule.multiple);
  const double times = *factor * static_cast<double>(width);
  if (!(times < static_cast<double>(kMaxSize))) {
    config.refuse("'" + rule.factor.name + "' gives an MLP size that is over the limit of " +
                  std::to_string(kMaxSize));
  }
  width = static_cast<std::int64_t>(times);
  return (width + multiple - 1) / multiple * multiple;
}

Dimensions read_dimensions(const ConfigReader& config, const Architecture& architecture) {
  if (architecture.stages) return read_stages(config, architecture).back();
  const ConfigKeys& keys = architecture.keys;
  Dimensions out;
  out.width = config.required(keys.width);
  out.source_width = config.number(keys.source_width).value_or(0);
  out.layers_per_group = config.required(keys.layers_per_group);
  if (!keys.layer_groups.name.empty()) out.layer_groups = config.required(keys.layer_groups);
  std::optional<std::int64_t> listed;
  if (architecture.mixers != nullptr) listed = listed_layer_count(*architecture.mixers, config);
  out.layers = (listed ? *listed : config.required(keys.layers)) * out.layers_per_group;
  if (architecture.mixers != nullptr) out.attention_streams = architecture.mixers->streams;

  HeadShape& heads = out.heads;
  heads.heads = config.required(keys.heads);
  const auto widths = listed_mlp_widths(config, architecture, out.layers);
  const auto one_width = [&] {
    const std::int64_t width =
        config.number(keys.mlp_width).value_or(config.required(keys.mlp_ratio) * out.width);
    if (width % keys.mlp_divisor != 0) {
      config.refuse("'" + keys.mlp_width.name + "' is not a multiple of " +
                    std::to_string(keys.mlp_divisor));
    }
    return adjusted(width / keys.mlp_divisor, keys.mlp_adjusted, config);
  };
  out.mlp_width = widths.empty() ? one_width() : *std::max_element(widths.begin(), widths.end());
  out.vocabulary = config.number(keys.vocabulary);
  out.context = config.number(keys.context);
  for (const std::string& key : keys.contexts) {
    if (config.has(keys.context.name)) break;
    out.context = std::max(out.context, config.number({key}));
  }
  if (architecture.mla && architecture.mla->of_queries_alone) {
    out.mla = MlaRanks{.query = config.required(architecture.mla->query_rank)};
  } else if (architecture.mla) {
    read_mla(*architecture.mla, config, out);
    return out;
  }
  heads.kv_heads =
      config.flag(keys.one_kv_head) ? 1 : config.number(keys.kv_heads).value_or(heads.heads);
  const auto head_dim = config.number(keys.head_dim);
  heads.head_dim = head_dim
                       ? *head_dim
                       : default_head_dim(out.attention_streams * out.width, heads.heads, config);
  heads.value_dim = heads.head_dim;
  return out;
}

/// The name in messages. Old versions of bitsandbytes wrote no `quant_method`.
std::string quantization_method(const json& quantization) {
  const std::string method = text_field(quantization, "quant_method");
  if (!method.empty()) return method;
  for (const char* key : {"load_in_8bit", "load_in_4bit"}) {
    if (quantization.value(key, json()) == true) return "bitsandbytes";
  }
  return "unnamed method";
}

/// Of the model, or of its language model.
Quantization quantization_of(const json& config) {
  const json* nested = nested_language(config);
  for (const json* level : {nested, &config}) {
    if (level == nullptr) continue;
    const auto found = level->find("quantization_config");
    if (found != level->end() && found->is_object()) {
      return {.method = quantization_method(*found), .config = python_json_text(*found)};
    }
  }
  return {};
}

/// Old CLIP files repeat `text_config` as `text_config_dict`, which transformers prefers.
const json& section_of(const json& config, const std::string& name) {
  auto found = name.empty() ? config.end() : config.find(name + "_dict");
  if (!name.empty() && (found == config.end() || !found->is_object())) found = config.find(name);
  return found != config.end() && found->is_object() ? *found : config;
}

}  // namespace

ModelSpec spec_by(const Architecture& family, const json& own, const json& config,
                  std::string_view text, std::string_view where, std::set<std::string>* asked) {
  const ConfigReader reader(&own, where, asked);
  const Architecture& architecture = layout_of(family, reader);
  ModelSpec spec{.architecture = architecture,
                 .dimensions = read_dimensions(reader, architecture),
                 .tied = architecture.tied_by_default,
                 .multimodal = architecture.stack.empty() && is_multimodal(config),
                 .quantization = quantization_of(config),
                 .source = std::string(where),
                 .text = std::string(text)};
  check_dimensions(spec.dimensions, where);
  keep_mla_weights(spec);
  read_mixers(spec, reader);
  read_expert_dimensions(spec, reader);
  read_layer_shapes(spec, reader);
  resolve_layers(spec, reader);
  for (const std::string& key : {std::string("tie_word_embeddings"), architecture.other_tied_key}) {
    for (const json* level : {&config, &own}) {
      const auto tied = level->find(key);
      if (!architecture.always_tied && tied != level->end() && tied->is_boolean())
        spec.tied = tied->get<bool>();
    }
  }
  return spec;
}

namespace {

/// Whether cross-attention reads vectors of another hidden size (BLIP large). Its circuits would
/// not be square.
bool reads_other_size(const Architecture& stack, const json& own, std::string_view where) {
  const ConfigReader config(&own, where);
  const auto source = config.number({"encoder_hidden_size"});
  return stack.stack == "cross" && source && source != config.number(stack.keys.width);
}

}  // namespace

Quantization parse_quantization(std::string_view text, std::string_view where) {
  const json config = parse_python_json(text, where);
  if (!config.is_object()) refuse_config(where, "is not a JSON object");
  return quantization_of(config);
}

std::vector<ModelSpec> parse_stacks(std::string_view text, std::string_view where) {
  const json config = parse_python_json(text, where);
  if (!config.is_object()) refuse_config(where, "is not a JSON object");
  if (const auto layout = shipped_layout(config, where)) return {parse_layout(*layout, where)};
  Architecture family = find_architecture(config, where);
  if (family.of_two_models) {
    family = with_two_models(std::move(family), config, where,
                             [&](const json& part) { return find_architecture(part, where); });
  }
  std::vector<ModelSpec> specs;
  std::vector<TensorRule> set_aside;
  for (const Architecture& stack : family.stacks) {
    const json& own = section_of(config, stack.section);
    if (reads_other_size(stack, own, where)) {
      for (const WeightRule& rule : stack.weights) {
        set_aside.push_back({"cross_attention", rule.tensor,
                             "cross-attention to vectors of another size is not supported"});
      }
      continue;
    }
    // In a model of two, settings outside of the stack's object are not about the stack.
    const json& all = family.of_two_models ? own : config;
    specs.push_back(spec_by(stack, own, all, text, where));
    specs.back().quantization = quantization_of(config);
  }
  if (!specs.empty()) {
    std::vector<TensorRule>& others = specs.front().architecture.others;
    others.insert(others.end(), set_aside.begin(), set_aside.end());
  }
  if (family.of_two_models && !specs.front().not_run.empty()) {
    // The decoder requires the output of its encoder.
    for (ModelSpec& spec : specs) spec.not_run = specs.front().not_run;
  }
  if (!specs.empty()) return specs;
  const json* nested = nested_language(config);
  specs.push_back(spec_by(family, nested != nullptr ? *nested : config, config, text, where));
  return specs;
}

ModelSpec parse_config(std::string_view text, std::string_view where) {
  std::vector<ModelSpec> specs = parse_stacks(text, where);
  if (specs.size() == 1) return std::move(specs.front());
  throw Error(ErrorKind::unsupported,
              {.file = std::string(where), .problem = "describes a model with several stacks"});
}

}  // namespace attnscope
