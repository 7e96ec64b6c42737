#include "attnscope/model/layer_config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "attnscope/core/text.h"
#include "attnscope/core/wording.h"
#include "attnscope/model/expert_config.h"
#include "attnscope/model/indexer_config.h"
#include "attnscope/model/latent_config.h"
#include "attnscope/model/mixer_config.h"
#include "attnscope/model/score_config.h"

namespace attnscope {
namespace {

using nlohmann::json;

NormSpec norm_named(const NormRule& rule, const ConfigReader& config, const std::string& tensor) {
  const double standard = rule.epsilon.fallback.value_or(0);
  return {.kind = rule.kind,
          .epsilon = config.real(rule.epsilon).value_or(standard),
          .gain_offset = config.real(rule.gain_offset).value_or(0),
          .tensor = config.flag(rule.affine) ? tensor : "",
          .biased = config.flag(rule.biased)};
}

/// The norm of that name; none where the rule names none.
std::optional<NormSpec> norm_at(const NormRule& rule, const ConfigReader& config,
                                const std::string& tensor) {
  if (tensor.empty()) return std::nullopt;
  return norm_named(rule, config, tensor);
}

void set_norms(LayerSpec& layer, const NormRule& rule, const ConfigReader& config) {
  const auto norm = [&](const std::string& tensor) { return norm_at(rule, config, tensor); };
  const bool first = config.flag(rule.first);
  layer.attention_input = norm(first ? rule.attention_input : "");
  layer.attention_output = norm(rule.attention_output);
  layer.attention_sum = norm(first ? rule.attention_sum : rule.attention_input);
  layer.mlp_input = norm(first ? rule.mlp_input : "");
  layer.mlp_output = norm(rule.mlp_output);
  layer.mlp_sum = norm(first ? rule.mlp_sum : rule.mlp_input);
  if (config.flag(rule.queries_and_keys)) {
    layer.attention.query_norm = norm(rule.query);
    layer.attention.key_norm = norm(rule.key);
    for (auto* own : {&layer.attention.query_norm, &layer.attention.key_norm}) {
      if (*own && !rule.heads_biased) (*own)->biased = false;
    }
  }
  layer.attention.norm_axis = rule.head_axis;
  layer.attention.norms_after_rotation = rule.after_rotation;
  const NormSpec bare = norm_named(rule, config, "");
  if (config.flag(rule.bare_heads)) {
    layer.attention.query_norm = layer.attention.key_norm = bare;
  }
  if (rule.bare_values) layer.attention.value_norm = bare;
  if (rule.bare_stream) layer.mlp_input = bare;
  if (layer.parallel && rule.shared_if_parallel) layer.mlp_input.reset();
  layer.norms_replace_stream = config.flag(rule.replaces_stream);
}

double scale_of(const ScoreRule& rule, const ConfigReader& config, const Dimensions& dimensions,
                std::int64_t layer) {
  const std::int64_t dimension =
      config.number(rule.scale_dimension).value_or(dimensions.heads.head_dim);
  double scale = 1 / std::sqrt(static_cast<double>(dimension));
  scale = config.positive(rule.scale).value_or(scale);
  if (!config.flag(rule.scaled)) scale = 1;
  return config.flag(rule.by_layer) ? scale / static_cast<double>(layer + 1) : scale;
}

/// Source: yarn_apply_mscale() of transformers' models/deepseek_v2: of any kind of scaling.
double stretched_scale(const std::optional<Rope>& rope) {
  if (!rope || rope->scaling == RopeScaling::none) return 1;
  const double factor = rope->factor.value_or(rope->context / rope->original_context);
  const double gain = yarn_gain(rope->mscale_all_dim.value_or(0), factor);
  return gain * gain;
}

/// Source: jonathanmiddleton/daisy-wee, models/gpt2/gpt_core.py: the second half of the middle
/// layers each take up the output of one before them. The number of a layer's skip weight is that
/// of the layer it comes from.
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

/// Where each of daisy's numbers stands in its tensor of 5 L: L weights of skips, two of each
/// layer's input, two of its values.
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
    std::optional<std::int64_t> table;  // the first layers have one each, and so have the last
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

double branch_factor(const MultiplierRule& rule, const ConfigReader& config, std::int64_t layers) {
  const auto factor = config.positive(rule.branches);
  if (!factor) return 1;
  return rule.by_depth ? *factor / std::sqrt(static_cast<double>(layers)) : *factor;
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

/// Why the sound cannot be read; empty where it can.
std::string set_sound(ModelSpec& spec, const ConfigReader& config) {
  const SoundRule& rule = *spec.architecture.sound;
  const auto list = [&](const ConfigList& of) {
    const auto found =
        of.name.empty() ? std::vector<std::int64_t>{} : config.numbers(of.name, /*least=*/1);
    return found.empty() ? of.fallback : found;
  };
  std::vector<std::int64_t> widths = list(rule.widths);
  const std::vector<std::int64_t> kernels = list(rule.kernels), strides = list(rule.strides);
  if (widths.empty()) widths.assign(kernels.size(), spec.dimensions.width);
  if (widths.size() != kernels.size() || widths.size() != strides.size() || widths.empty()) {
    config.refuse("'" + rule.kernels.name + "', '" + rule.strides.name + "' and '" +
                  rule.widths.name + "' are not of one length");
  }
  SoundSpec& sound = spec.stream.sound.emplace();
  sound.of_waves = rule.of_waves;
  sound.features = rule.of_waves ? 1 : config.required(rule.features);
  const std::string kind = config.text(rule.norm_key);
  const auto numbered = [](std::string pattern, std::int64_t number) {
    const std::string mark = "{number}";
    const auto at = pattern.find(mark);
    if (at != std::string::npos) pattern.replace(at, mark.size(), std::to_string(number));
    return pattern;
  };
  for (std::size_t at = 0; at < widths.size(); ++at) {
    const auto number = static_cast<std::int64_t>(at);
    SoundConvolution& own = sound.convolutions.emplace_back(
        SoundConvolution{.name = numbered(rule.place, rule.first_number + number),
                         .outputs = widths[at],
                         .kernel = kernels[at],
                         .stride = strides[at],
                         .padding = rule.padding});
    if (rule.norm.empty()) continue;
    own.norm_name = numbered(rule.norm, number);
    if (kind == "layer") own.norm = SoundNorm::frames;
    if (kind != "layer" && at == 0) own.norm = SoundNorm::channels;
  }
  if (config.flag(rule.has_projection_norm)) {
    sound.projection_norm = norm_at(*spec.architecture.norm, config, rule.projection_norm);
  }
  sound.projection = rule.projection;
  if (!rule.places.empty()) {
    sound.places = SoundPlaces{.name = rule.places,
                               .kernel = config.required(rule.places_kernel),
                               .groups = config.required(rule.places_groups)};
    if (spec.dimensions.width % sound.places->groups != 0) {
      config.refuse("the width is no multiple of '" + rule.places_groups.name + "'");
    }
  }
  if (config.flag(rule.places_batch_norm)) {
    return "'" + rule.places_batch_norm.name + "' is true, which is not known";
  }
  if (!kind.empty() && kind != "group" && kind != "layer") {
    return "'" + rule.norm_key + "' " + printable(kind) + " is not known";
  }
  const std::string named = config.text(rule.activation_key);
  const auto activation = activation_from_name(named.empty() ? rule.activation : named);
  if (!activation) return "activation '" + printable(named) + "' is not known";
  sound.activation = *activation;
  return "";
}

void set_stream(ModelSpec& spec, const ConfigReader& config) {
  const Architecture& architecture = spec.architecture;
  const NormRule& norms = *architecture.norm;
  StreamSpec& stream = spec.stream;
  EmbeddingRule& embedding = stream.embedding;
  embedding = architecture.embedding;
  if (!config.flag(embedding.has_positions)) embedding.positions.clear();
  if (config.number(embedding.type_count, /*least=*/0) == 0) embedding.types.clear();
  if (!config.flag(embedding.has_norm)) embedding.norm.clear();
  stream.embedding_norm = norm_at(norms, config, embedding.norm);
  const std::int64_t width = spec.dimensions.width;
  if (embedding.waves && (width % 2 != 0 || width < 4) && spec.not_run.empty()) {
    spec.not_run =
        "its positions are waves, which a width of " + std::to_string(width) + " has no room for";
  }
  stream.embedding_width = config.number(embedding.width).value_or(width);
  const bool if_narrow = embedding.projects_tokens || embedding.projects_if_narrow;
  stream.has_projection =
      !embedding.projection.empty() && (!if_narrow || stream.embedding_width != width);
  stream.embedding_factor = config.flag(embedding.times_sqrt_width)
                                ? std::sqrt(static_cast<double>(width))
                                : config.positive(architecture.multipliers.embedding).value_or(1);
  if (config.flag(embedding.drops_masked)) {
    stream.dropped_token = config.number(embedding.masked_token, /*least=*/0);
    if (!stream.dropped_token && spec.not_run.empty()) {
      spec.not_run = "'" + embedding.drops_masked.name + "' is true, and '" +
                     embedding.masked_token.name + "' is not said";
    }
  }
  stream.padding_token = config.number(architecture.padding_token, /*least=*/0).value_or(0);
  if (config.flag(norms.first) && !config.flag(norms.without_last)) {
    stream.last_norm = norm_at(norms, config, norms.last);
  }
  if (norms.bare_stream) stream.embedding_norm = norm_named(norms, config, "");
  stream.shows_last_normed = norms.shows_last;
  if (architecture.sound) {
    const std::string unknown = set_sound(spec, config);
    if (spec.not_run.empty()) spec.not_run = unknown;
  }
  if (!architecture.patches) return;
  const PatchRule& patches = *architecture.patches;
  stream.patches = PatchSpec{.rule = patches,
                             .image_size = config.required(patches.image_size),
                             .size = config.required(patches.patch_size),
                             .channels = config.required(patches.channels),
                             .registers = config.number(patches.register_count, 0).value_or(0)};
}

/// Why the file's kind of positions cannot be computed; empty where it can. Of older files of BERT:
/// transformers 5 takes no notice of it, and runs the model with positions it was not trained with.
std::string unknown_positions(const Architecture& architecture, const ConfigReader& config) {
  constexpr const char* kKey = "position_embedding_type";
  const std::string kind = config.text(kKey);
  const auto& conditions = architecture.conditions;
  const bool chosen_by_it = std::any_of(conditions.begin(), conditions.end(),
                                        [](const auto& each) { return each.key == kKey; });
  if (kind.empty() || kind == "absolute" || chosen_by_it) return "";
  return "position_embedding_type '" + printable(kind) + "' is not known";
}

/// Empty where it is known.
std::string set_activation(Activation& activation, const std::string& name) {
  const auto found = activation_from_name(name);
  if (!found) return "activation '" + printable(name) + "' is not known";
  activation = *found;
  return "";
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
                         .projection_norm = norm_named(norms, config, rule.projection_norm),
                         .norm = norm_named(norms, config, rule.norm)};
  // That of y / √D with this epsilon is that of y with D times it.
  spec.projection_norm.epsilon *= static_cast<double>(width);
  return spec;
}

/// Why the layer cannot be computed; empty where it can.
std::string set_convolution(LayerSpec& layer, const Architecture& architecture,
                            const ConfigReader& config) {
  const ConvolutionRule& rule = *architecture.convolution;
  const std::int64_t kernel = config.number(rule.kernel, /*least=*/0).value_or(0);
  if (kernel == 0) return "";
  const std::int64_t groups = config.number(rule.groups).value_or(1);
  if (kernel % 2 == 0 || groups != 1) {
    return "a convolution of " + std::to_string(kernel) + " tokens in " + counted(groups, "group") +
           " is not known";
  }
  ConvolutionSpec& own = layer.convolution.emplace(
      ConvolutionSpec{.kernel = kernel,
                      .tensor = rule.tensor,
                      .norm = norm_named(*architecture.norm, config, rule.norm)});
  const std::string named = config.text(rule.activation_key);
  return set_activation(own.activation, named.empty() ? rule.activation : named);
}

}  // namespace

void resolve_layers(ModelSpec& spec, const ConfigReader& config) {
  const Architecture& architecture = spec.architecture;
  spec.causal = reads_one_way(architecture, config);
  if (!architecture.norm) {
    spec.not_run = unknown_mixer(spec);
    if (spec.not_run.empty()) spec.not_run = "does not describe the forward pass";
    return;
  }
  const std::int64_t layers = spec.dimensions.layers;
  const std::vector<bool> windowed = windowed_layers(architecture, config, layers);
  const std::vector<std::optional<Rope>> ropes =
      read_ropes(architecture, config, windowed, spec.dimensions);
  const std::vector<MaskSpec> masks = read_masks(architecture, config, windowed);

  std::string activation = config.text(architecture.activation_key);
  if (activation.empty()) activation = architecture.activation;
  if (activation == "gelu" && !architecture.gelu_means.empty()) {
    activation = architecture.gelu_means;
  }
  LayerSpec common{.parallel = config.flag(architecture.parallel)};
  set_norms(common, *architecture.norm, config);
  if (architecture.latent) {
    common.attention.latent = latent_norms(*architecture.latent, spec.dimensions);
  }
  spec.not_run = set_activation(common.activation, activation);
  if (spec.not_run.empty()) spec.not_run = unknown_mask(architecture, config);
  if (spec.not_run.empty()) spec.not_run = unknown_positions(architecture, config);
  if (spec.not_run.empty()) spec.not_run = unknown_mixer(spec);
  const std::optional<MixerSpec> mixer = mixer_spec(spec, config, common.activation);
  common.attention.soft_cap = config.positive(architecture.scores.soft_cap);
  common.attention.temperature = temperature_of(architecture, config);
  if (architecture.patches) {
    common.attention.patch_rotation = config.positive(architecture.patches->rotation);
  }
  common.attention_factors = architecture.multipliers.attention;
  common.mlp_factors = architecture.multipliers.mlp;
  common.output_factor = architecture.multipliers.layer_output;
  if (architecture.per_layer_input) {
    common.own_input = own_input_of(*architecture.per_layer_input, *architecture.norm, config,
                                    spec.dimensions.width);
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
    if (!spec.dimensions.attends(layer)) own.mixer = mixer;
    if (own.experts && own.experts->norms && !own.mlp_input && spec.not_run.empty()) {
      spec.not_run = "experts have norms of their own, and the MLP's input has none";
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
  spec.head.end_token = config.number(architecture.head.end_token, /*least=*/0);
  spec.head.factor = logits_factor(architecture.multipliers, config, spec.dimensions.width);
}

}  // namespace attnscope
