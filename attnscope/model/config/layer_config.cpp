#include "attnscope/model/config/layer_config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "attnscope/base/text.h"
#include "attnscope/model/config/altup_config.h"
#include "attnscope/model/config/bitnet_config.h"
#include "attnscope/model/config/embedding_and_norm_config.h"
#include "attnscope/model/config/expert_config.h"
#include "attnscope/model/config/label_config.h"
#include "attnscope/model/config/mask_config.h"
#include "attnscope/model/config/mixer_config.h"
#include "attnscope/model/config/mla_and_indexer_config.h"
#include "attnscope/model/config/patch_window_config.h"
#include "attnscope/model/config/position_bias_config.h"
#include "attnscope/model/config/rope_config.h"

namespace attnscope {
namespace {

double scale_of(const ScoreRule& rule, const ConfigReader& config, const Dimensions& dimensions,
                std::int64_t layer) {
  const std::int64_t dimension =
      config.number(rule.scale_dimension).value_or(dimensions.heads.head_dim);
  double scale = 1 / std::sqrt(static_cast<double>(dimension) * rule.dimension_share);
  scale = config.positive(rule.scale).value_or(scale);
  if (!config.flag(rule.scaled)) scale = 1;
  return config.flag(rule.by_layer) ? scale / static_cast<double>(layer + 1) : scale;
}

/// Source: yarn_apply_mscale() in transformers' models/deepseek_v2. It applies to every type of
/// scaling.
double stretched_scale(const std::optional<Rope>& rope) {
  if (!rope || rope->scaling == RopeScaling::none) return 1;
  const double factor = rope->factor.value_or(rope->context / rope->original_context);
  const double gain = yarn_gain(rope->mscale_all_dim.value_or(0), factor);
  return gain * gain;
}

std::optional<TemperatureSpec> temperature_of(const Architecture& architecture,
                                              const ConfigReader& config) {
  const TemperatureRule& rule = architecture.scores.temperature;
  if (!config.flag(rule.enabled)) return std::nullopt;
  nlohmann::json standard;
  const ConfigReader parameters =
      rule.in_rope ? rope_parameters(architecture, config, standard) : config;
  const auto growth = parameters.positive(rule.growth);
  const auto period = parameters.number(rule.period);
  if (!growth || !period) return std::nullopt;
  return TemperatureSpec{.growth = *growth, .period = *period, .first = rule.first};
}

/// Returns why the position type in the file is not supported; empty if it is. It occurs in older
/// files of BERT. transformers 5 ignores the setting and runs the model with positions that it was
/// not trained with.
std::string unknown_positions(const Architecture& architecture, const ConfigReader& config) {
  constexpr const char* kKey = "position_embedding_type";
  const std::string kind = config.text(kKey);
  const auto& conditions = architecture.conditions;
  const bool chosen_by_it = std::any_of(conditions.begin(), conditions.end(),
                                        [](const auto& each) { return each.key == kKey; });
  if (kind.empty() || kind == "absolute" || chosen_by_it) return "";
  return "position_embedding_type '" + printable(kind) + "' is not known";
}

double branch_factor(const MultiplierRule& rule, const ConfigReader& config, std::int64_t layers) {
  const auto factor = config.positive(rule.branches);
  if (!factor) return 1;
  return rule.by_depth ? *factor / std::sqrt(static_cast<double>(layers)) : *factor;
}

void set_factors(LayerSpec& layer, const MultiplierRule& rule, const ConfigReader& config) {
  layer.attention_input_factor = config.positive(rule.attention_input).value_or(1);
  layer.attention_factor = config.positive(rule.attention_output).value_or(1);
  layer.attention_stream_factor = config.positive(rule.attention_stream).value_or(1);
  layer.mlp_stream_factor = config.positive(rule.mlp_stream).value_or(1);
  layer.mlp_factor = config.positive(rule.mlp_output).value_or(1);
  const std::vector<double> of_mlp = config.positives(rule.gate_and_mlp);
  if (of_mlp.empty()) return;
  if (of_mlp.size() != 2) {
    config.refuse("'" + rule.gate_and_mlp + "' has " + counted(of_mlp.size(), "number") +
                  ", expected 2");
  }
  layer.gate_factor = of_mlp[0];
  layer.mlp_factor = of_mlp[1];
}

double logits_factor(const MultiplierRule& rule, const ConfigReader& config, std::int64_t width) {
  const double divisor = config.positive(rule.logits_divisor).value_or(1);
  const auto of_width = config.number(rule.logits_width);
  const double widths =
      of_width ? static_cast<double>(width) / static_cast<double>(*of_width) : 1.0;
  const double root =
      config.flag(rule.logits_by_root) ? std::sqrt(static_cast<double>(width)) : 1.0;
  return config.positive(rule.logits).value_or(1) / divisor / widths / root;
}

/// Returns why the activation is not supported; empty if it is.
std::string set_activation(Activation& activation, const std::string& name) {
  const auto found = activation_from_name(name);
  if (!found) return "activation '" + printable(name) + "' is not known";
  activation = *found;
  return "";
}

/// Returns the name of the MLP's activation.
std::string activation_name(const Architecture& architecture, const ConfigReader& config) {
  std::string name = config.text(architecture.activation_key);
  // Source: T5Config, whose `feed_forward_proj` marks gated MLPs.
  constexpr std::string_view kGated = "gated-";
  if (name == "gated-gelu") return "gelu_new";
  if (name.starts_with(kGated)) name.erase(0, kGated.size());
  if (name.empty()) name = architecture.activation;
  return name == "gelu" && !architecture.gelu_means.empty() ? architecture.gelu_means : name;
}

std::optional<PerLayerInputSpec> own_input_of(const PerLayerInputRule& rule, const NormRule& norms,
                                              const ConfigReader& config, std::int64_t width) {
  const std::int64_t own = config.number(rule.width, /*least=*/0).value_or(0);
  if (own == 0) return std::nullopt;
  PerLayerInputSpec spec{.width = own,
                         .table = rule.table,
                         .projection = rule.projection,
                         .gate = rule.gate,
                         .up = rule.up,
                         .covers_all = rule.covers_all,
                         .projection_norm = norm_named(norms, config, rule.projection_norm),
                         .norm = norm_named(norms, config, rule.norm)};
  // The RMS norm of y / √D with this epsilon equals that of y with D times the epsilon.
  spec.projection_norm.epsilon *= static_cast<double>(width);
  return spec;
}

ConformerSpec conformer_of(const ConformerRule& rule, const NormRule& norms,
                           const ConfigReader& config) {
  return {.rule = rule,
          .kernel = config.required(rule.kernel),
          .first_norm = norm_named(norms, config, rule.first_norm),
          .norm = norm_named(norms, config, rule.norm),
          .inner_norm = norm_named(norms, config, rule.inner_norm)};
}

/// Returns why the layer cannot be computed; empty if it can.
std::string set_convolution(LayerSpec& layer, const Architecture& architecture,
                            const ConfigReader& config) {
  const ConvolutionRule& rule = *architecture.convolution;
  const std::int64_t kernel = config.number(rule.kernel, /*least=*/0).value_or(0);
  if (kernel == 0) return "";
  const std::int64_t groups = config.number(rule.groups).value_or(1);
  if (kernel % 2 == 0 || groups != 1) {
    return "a convolution of " + std::to_string(kernel) + " tokens in " + counted(groups, "group") +
           " is not supported";
  }
  ConvolutionSpec& own = layer.convolution.emplace(
      ConvolutionSpec{.kernel = kernel,
                      .tensor = rule.tensor,
                      .norm = norm_named(*architecture.norm, config, rule.norm)});
  const std::string named = config.text(rule.activation_key);
  return set_activation(own.activation, named.empty() ? rule.activation : named);
}

/// For each layer of daisy, the earlier layer whose output it adds to its input. The skip weight
/// has the index of that earlier layer.
std::vector<std::optional<std::int64_t>> daisy_skips(std::int64_t layers) {
  std::vector<std::optional<std::int64_t>> from(static_cast<std::size_t>(layers));
  const std::int64_t count = std::max<std::int64_t>(1, layers / 8);
  const std::int64_t middle = layers / 2;
  const std::int64_t gap = std::max<std::int64_t>(1, layers / (2 * (count + 1)));
  for (std::int64_t step = 1; step <= count; ++step) {
    const std::int64_t layer = middle - count + step - 1, source = layer - step * gap;
    if (source >= 0 && source < layer) from[static_cast<std::size_t>(layer)] = source;
  }
  return from;
}

/// Sets the inputs and value embeddings of daisy's layers. Their scalars are one tensor of size 5
/// L: L skip weights, two per layer for its input, and two per layer for its values. Source:
/// jonathanmiddleton/daisy-wee, models/gpt2/gpt_core.py.
void set_daisy(std::vector<LayerSpec>& specs, const DaisyRule& rule) {
  const auto layers = std::ssize(specs);
  const auto skips = daisy_skips(layers);
  constexpr std::int64_t kTables = 3;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    LayerSpec& spec = specs[static_cast<std::size_t>(layer)];
    const auto scalar = [&](std::int64_t index) { return ScalarSite{rule.scalars, index}; };
    const auto skip_from = skips[static_cast<std::size_t>(layer)];
    spec.input = LayerInputSpec{.skip_from = skip_from,
                                .skip = scalar(skip_from.value_or(0)),
                                .of_stream = scalar(layers + 2 * layer),
                                .of_embedding = scalar(layers + 2 * layer + 1)};
    std::optional<std::int64_t> table;  // only the first and the last layers have a value embedding
    const std::int64_t last = std::max(layers - kTables, kTables);
    if (layer < kTables) table = layer;
    if (layer >= last) table = layer - last;
    std::string name;
    if (table) {
      name = rule.value_tables;
      name.replace(name.find('*'), 1, std::to_string(*table));
    }
    spec.attention.value_embedding =
        ValueEmbeddingSpec{.of_value = scalar(3 * layers + 2 * layer),
                           .of_table = scalar(3 * layers + 2 * layer + 1),
                           .table = name};
  }
}
}  // namespace

void resolve_layers(ModelSpec& spec, const ConfigReader& config) {
  const Architecture& architecture = spec.architecture;
  spec.causal = is_causal_model(architecture, config);
  if (!architecture.norm) {
    spec.not_run = architecture.not_run.empty() ? unknown_mixer(spec) : architecture.not_run;
    if (spec.not_run.empty()) spec.not_run = "does not describe the forward pass";
    return;
  }
  const std::int64_t layers = spec.dimensions.layers;
  const std::vector<bool> windowed = windowed_layers(architecture, config, layers);
  const std::vector<std::optional<Rope>> ropes =
      read_ropes(architecture, config, windowed, spec.dimensions);
  const std::vector<MaskSpec> masks = read_masks(architecture, config, windowed);

  const std::string activation = activation_name(architecture, config);
  LayerSpec common{.parallel = config.flag(architecture.parallel)};
  set_norms(common, *architecture.norm, config);
  if (architecture.mla) {
    common.attention.mla = mla_norms(*architecture.mla, spec.dimensions);
  }
  if (architecture.has_mlp) spec.not_run = set_activation(common.activation, activation);
  if (spec.not_run.empty()) spec.not_run = unknown_mask(architecture, config);
  if (spec.not_run.empty()) spec.not_run = unknown_positions(architecture, config);
  if (spec.not_run.empty()) spec.not_run = unknown_mixer(spec);
  const std::optional<MixerSpec> mixer = mixer_spec(spec, config, common.activation);
  common.attention.soft_cap = config.positive(architecture.scores.soft_cap);
  common.attention.temperature = temperature_of(architecture, config);
  if (architecture.patches) {
    common.attention.patch_rotation = config.positive(architecture.patches->rotation);
  }
  set_factors(common, architecture.multipliers, config);
  if (config.real(architecture.multipliers.initial).value_or(0) > 0) {
    common.attention_factors = architecture.multipliers.attention;
    common.mlp_factors = architecture.multipliers.mlp;
  }
  common.output_factor = architecture.multipliers.layer_output;
  if (architecture.per_layer_input) {
    common.own_input = own_input_of(*architecture.per_layer_input, *architecture.norm, config,
                                    spec.dimensions.width);
  }
  if (architecture.conformer) {
    common.conformer = conformer_of(*architecture.conformer, *architecture.norm, config);
    common.mlp_factor = architecture.conformer->mlp_factor;
  }
  common.branch_factor = branch_factor(architecture.multipliers, config, layers);
  for (const BiasRule& rule : architecture.biases) {
    if (!config.flag(rule.needed)) continue;
    common.biased.insert(common.biased.end(), rule.roles.begin(), rule.roles.end());
  }
  std::optional<ExpertSpec> experts;
  if (spec.dimensions.experts > 0) experts = read_experts(spec, config);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const auto at = static_cast<std::size_t>(layer);
    LayerSpec& own = spec.layers.emplace_back(common);
    own.attention.scale = scale_of(architecture.scores, config, spec.dimensions_of(layer), layer);
    own.attention.scale *= config.positive(architecture.multipliers.keys).value_or(1);
    own.attention.mask = masks[at];
    own.attention.rope = ropes[at];
    if (!ropes[at] && architecture.norm->heads_if_rotated) {
      own.attention.query_norm.reset();
      own.attention.key_norm.reset();
    }
    if (ropes[at] && architecture.scores.temperature.unrotated_only) {
      own.attention.temperature.reset();
    }
    if (spec.has_experts(layer)) own.experts = experts;
    if (spec.dimensions.mixes(layer)) own.mixer = mixer;
    set_block(own, layer, spec, config);
    if (!spec.dimensions.attends(layer)) {
      own.attention_stream_factor =
          config.positive(architecture.multipliers.mixer_stream).value_or(1);
    }
    if (!spec.dimensions.attends(layer) && !spec.dimensions.mixes(layer) &&
        !spec.dimensions.skips(layer)) {
      own.mlp_input = own.attention_input;  // the layer is only an MLP
      own.attention_input.reset();
    }
    if (own.experts && own.experts->norms && !own.mlp_input && spec.not_run.empty()) {
      spec.not_run = "experts have their own norms, but the MLP input has no norm";
    }
    const std::string unknown =
        set_score_biases(own.attention, architecture, config, spec.dimensions);
    if (spec.not_run.empty()) spec.not_run = unknown;
    if (layer == 0 && architecture.norm->not_in_first_layer) own.attention_input.reset();
    if (architecture.scores.times_yarn_gain) own.attention.scale *= stretched_scale(ropes[at]);
  }
  const std::string unknown_indexer = set_indexers(spec, config);
  if (spec.not_run.empty()) spec.not_run = unknown_indexer;
  if (architecture.daisy) set_daisy(spec.layers, *architecture.daisy);
  if (architecture.convolution && !spec.layers.empty()) {
    const std::string unknown = set_convolution(spec.layers.front(), architecture, config);
    if (spec.not_run.empty()) spec.not_run = unknown;
  }

  set_stream(spec, config);
  const std::string unknown_windows = set_patch_windows(spec, config);
  if (spec.not_run.empty()) spec.not_run = unknown_windows;
  read_altup(spec, config);
  spec.head.rule = architecture.head;
  spec.head.norm = norm_at(*architecture.norm, config, architecture.head.norm);
  if (architecture.norm->bare_stream) {
    spec.head.norm = norm_named(*architecture.norm, config, "");
  }
  spec.head.activation = common.activation;
  std::string of_head = config.text(architecture.head.activation_key);
  if (of_head.empty()) of_head = architecture.head.activation;
  if (!of_head.empty()) {
    const std::string unknown = set_activation(spec.head.activation, of_head);
    if (spec.not_run.empty()) spec.not_run = unknown;
  }
  if (!architecture.not_run.empty()) spec.not_run = architecture.not_run;
  spec.head.soft_cap = config.positive(architecture.head.soft_cap);
  spec.head.width = config.number(architecture.head.width).value_or(spec.stream.embedding_width);
  spec.head.end_token = config.number(architecture.head.end_token, /*least=*/0);
  spec.head.factor = logits_factor(architecture.multipliers, config, spec.dimensions.width);
  std::string unknown_labels;
  spec.labels = label_head_of(architecture, config, unknown_labels);
  if (spec.not_run.empty()) spec.not_run = unknown_labels;
  set_rounded_inputs(spec);
}

}  // namespace attnscope
