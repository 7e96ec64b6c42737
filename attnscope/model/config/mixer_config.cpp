#include "attnscope/model/config/mixer_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "attnscope/base/text.h"
#include "attnscope/model/config/mamba_config.h"

namespace attnscope {
namespace {

using nlohmann::json;

LayerMixer mixer_of(const LayerKind& kind) {
  return {
      .attends = kind.attends, .name = kind.mixer, .after = kind.after, .skipped = kind.skipped};
}

/// A layer of an unknown type is assumed to have no attention.
LayerMixer named_mixer(const std::vector<LayerKind>& kinds, const std::string& name) {
  for (const LayerKind& kind : kinds) {
    if (kind.name == name) return mixer_of(kind);
  }
  return {.attends = false, .name = "the unknown type '" + printable(name) + "'"};
}

const LayerKind& first_kind(const MixerRule& rule, bool attends) {
  return *std::find_if(rule.kinds.begin(), rule.kinds.end(),
                       [&](const LayerKind& kind) { return kind.attends == attends; });
}

LayerMixer mixer_that(const MixerRule& rule, bool attends) {
  return mixer_of(first_kind(rule, attends));
}

std::string list_key(const MixerRule& rule, const ConfigReader& config) {
  for (const std::string& key : rule.list_keys) {
    if (config.find(key) != nullptr) return key;
  }
  return "";
}

std::vector<LayerMixer> listed_mixers(const MixerRule& rule, const ConfigReader& config) {
  std::vector<LayerMixer> mixers;
  if (const std::string key = list_key(rule, config); !key.empty()) {
    for (const std::string& name : config.texts(key)) {
      mixers.push_back(named_mixer(rule.kinds, name));
      if (std::ssize(mixers) > kMaxLayers) break;
    }
    return mixers;
  }
  // The reader rejects texts longer than a few thousand bytes.
  for (const char letter : config.text(rule.letters_key)) {
    mixers.push_back(named_mixer(rule.letters, std::string(1, letter)));
  }
  return mixers;
}

bool has_list(const MixerRule& rule, const ConfigReader& config) {
  return !list_key(rule, config).empty() || config.find(rule.letters_key) != nullptr;
}

/// `first`: the number of the first layer. `listed`: the layers that have attention, or that have
/// none, see MixerRule::lists_others.
std::vector<LayerMixer> attending_in(const MixerRule& rule, std::int64_t first,
                                     const std::vector<std::int64_t>& listed, std::size_t layers) {
  std::vector<LayerMixer> mixers(layers, mixer_that(rule, rule.lists_others));
  for (const std::int64_t number : listed) {
    const auto layer = static_cast<std::size_t>(number - first);
    if (layer < layers) mixers[layer] = mixer_that(rule, !rule.lists_others);
  }
  return mixers;
}

std::vector<LayerMixer> at_intervals(const MixerRule& rule, const ConfigReader& config,
                                     std::int64_t layers) {
  const auto interval = config.number(rule.interval);
  std::vector<LayerMixer> mixers;
  const std::int64_t n = interval.value_or(1);
  const std::int64_t offset = config.number(rule.offset, /*least=*/0).value_or(n - 1);
  if (offset >= n) {
    config.refuse("'" + rule.offset.name + "' is " + std::to_string(offset) + ", expected 0 to " +
                  std::to_string(n - 1));
  }
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const bool attends = layer % n == offset && !(rule.not_first && layer == 0);
    mixers.push_back(mixer_that(rule, attends));
  }
  return mixers;
}

std::vector<LayerMixer> read_layers(const MixerRule& rule, const ConfigReader& config,
                                    std::int64_t layers) {
  const auto count = static_cast<std::size_t>(layers);
  if (has_list(rule, config)) {
    std::vector<LayerMixer> mixers = listed_mixers(rule, config);
    for (std::size_t at = 0; rule.repeats_list && !mixers.empty() && mixers.size() < count; ++at) {
      mixers.push_back(LayerMixer(mixers[at]));
    }
    if (mixers.size() < count) {
      const std::string key = list_key(rule, config);
      config.refuse("'" + (key.empty() ? rule.letters_key : key) + "' lists " +
                    std::to_string(mixers.size()) + " of " + counted(layers, "layer"));
    }
    mixers.resize(count);
    return mixers;
  }
  if (config.find(rule.attending_key) != nullptr) {
    const auto listed = config.numbers(rule.attending_key, rule.first_layer);
    return attending_in(rule, rule.first_layer, listed, count);
  }
  if (!rule.usual.empty()) return {count, named_mixer(rule.kinds, rule.usual)};
  if (!rule.usual_attending.empty()) return attending_in(rule, 0, rule.usual_attending, count);
  return at_intervals(rule, config, layers);
}

/// The layers with attention use the shared blocks in turn.
void share_blocks(std::vector<LayerMixer>& layers, std::int64_t blocks) {
  std::vector<std::int64_t> owners;
  std::int64_t turn = 0;
  for (std::int64_t layer = 0; layer < std::ssize(layers); ++layer) {
    LayerMixer& own = layers[static_cast<std::size_t>(layer)];
    if (!own.attends) continue;
    if (turn < blocks) owners.push_back(layer);
    own.use = turn;
    own.weights_of = owners[static_cast<std::size_t>(turn % blocks)];
    ++turn;
  }
}

DeltaNetSpec read_delta_net(const DeltaNetRule& rule, const ConfigReader& config) {
  DeltaNetSpec spec{.key_heads = config.required(rule.key_heads),
                    .value_heads = config.required(rule.value_heads),
                    .key_dim = config.required(rule.key_dim),
                    .value_dim = config.required(rule.value_dim),
                    .kernel = config.required(rule.kernel),
                    .place = rule.place,
                    .by_head = rule.by_head,
                    .rates_stored = config.flag(rule.rates_stored)};
  if (spec.value_heads % spec.key_heads != 0) {
    config.refuse(counted(spec.value_heads, "value head") +
                  " of linear attention are not a multiple " + "of " +
                  counted(spec.key_heads, "key head"));
  }
  check_size(spec.key_heads, spec.key_dim, config);
  check_size(spec.value_heads, spec.value_dim, config);
  check_size(spec.values(), spec.key_dim, config);
  check_size(spec.convolved(), spec.kernel, config);
  return spec;
}

ShortConvolutionSpec read_short_convolution(const ShortConvolutionRule& rule,
                                            const ConfigReader& config, std::int64_t width) {
  const ShortConvolutionSpec spec{.kernel = config.required(rule.kernel),
                                  .place = rule.place,
                                  .biased = config.flag(rule.biased)};
  check_size(3 * width, spec.kernel, config);
  return spec;
}

KimiDeltaSpec read_kimi_delta(const KimiDeltaRule& rule, const ConfigReader& config) {
  const KimiDeltaSpec spec{.heads = config.required(rule.heads),
                           .head_dim = config.required(rule.head_dim),
                           .kernel = config.required(rule.kernel),
                           .place = rule.place};
  check_size(3 * spec.heads, spec.head_dim, config);
  check_size(spec.channels(), spec.head_dim, config);
  check_size(spec.convolved(), spec.kernel, config);
  return spec;
}

RgLruSpec read_rg_lru(const RgLruRule& rule, const ConfigReader& config,
                      const Dimensions& dimensions) {
  const RgLruSpec spec{.width = config.number(rule.width).value_or(dimensions.width),
                       .blocks = dimensions.heads.heads,
                       .kernel = config.required(rule.kernel),
                       .place = rule.place};
  if (spec.width % spec.blocks != 0) {
    config.refuse("'" + rule.width.name + "' is " + std::to_string(spec.width) +
                  ", expected a multiple of " + counted(spec.blocks, "head"));
  }
  check_size(spec.width, spec.block_width(), config);
  check_size(spec.width, spec.kernel, config);
  return spec;
}

LightningSpec read_lightning(const LightningRule& rule, const ConfigReader& config,
                             const HeadShape& heads) {
  const LightningSpec spec{.heads = heads.heads, .head_dim = heads.head_dim, .place = rule.place};
  check_size(4 * spec.heads, spec.head_dim, config);
  check_size(spec.channels(), spec.head_dim, config);
  return spec;
}

/// Whether the forward pass computes a mixer of this name.
bool is_described(const MixerRule& rule, const std::string& name) {
  const auto has = [&](const std::vector<LayerKind>& kinds) {
    return std::any_of(kinds.begin(), kinds.end(),
                       [&](const LayerKind& kind) { return kind.mixer == name; });
  };
  return rule.is_computed() && (has(rule.kinds) || has(rule.letters));
}

}  // namespace

std::optional<std::int64_t> listed_layer_count(const MixerRule& rule, const ConfigReader& config) {
  if (!rule.lists_every_layer || !has_list(rule, config)) return std::nullopt;
  const auto count = std::ssize(listed_mixers(rule, config));
  return count == 0 ? std::nullopt : std::optional(count);
}

void read_mixers(ModelSpec& spec, const ConfigReader& config) {
  if (spec.architecture.mixers == nullptr) return;
  const MixerRule& rule = *spec.architecture.mixers;
  Dimensions& dimensions = spec.dimensions;
  MixerSizes sizes{.layers = read_layers(rule, config, dimensions.layers)};
  const auto plain = [](const LayerMixer& layer) { return layer.attends && layer.name.empty(); };
  if (std::all_of(sizes.layers.begin(), sizes.layers.end(), plain) && !rule.block) return;
  if (rule.block) share_blocks(sizes.layers, config.required(rule.block->count));
  if (rule.delta_net) {
    const DeltaNetSpec own = read_delta_net(*rule.delta_net, config);
    sizes.state = (own.kernel - 1) * own.convolved() + own.values() * own.key_dim;
    sizes.row = own.projected() + own.convolved() + 2 * own.values();
  }
  if (rule.short_convolution) {
    const auto own = read_short_convolution(*rule.short_convolution, config, dimensions.width);
    sizes.state = (own.kernel - 1) * dimensions.width;
    sizes.row = 4 * dimensions.width;
  }
  if (rule.kimi_delta) {
    const KimiDeltaSpec own = read_kimi_delta(*rule.kimi_delta, config);
    sizes.state = (own.kernel - 1) * own.convolved() + own.channels() * own.head_dim;
    sizes.row = own.projected() + own.convolved() + 3 * own.channels();
  }
  if (rule.rg_lru) {
    const RgLruSpec own = read_rg_lru(*rule.rg_lru, config, dimensions);
    sizes.state = own.kernel * own.width;
    sizes.row = 6 * own.width;
  }
  if (rule.mamba) {
    const MambaSpec own = read_mamba(*rule.mamba, config, dimensions.width);
    sizes.state = (own.kernel - 1 + own.state_dim) * own.channels;
    sizes.row = 5 * own.channels + own.step_rank + 2 * own.state_dim;
  }
  if (rule.mamba2) {
    const Mamba2Spec own = read_mamba2(*rule.mamba2, config, dimensions.width);
    sizes.state = (own.kernel - 1) * own.convolved() + own.channels() * own.state_dim;
    sizes.row = own.projected() + own.convolved() + own.channels() + 2 * dimensions.width;
  }
  if (rule.lightning) {
    const LightningSpec own = read_lightning(*rule.lightning, config, dimensions.heads);
    sizes.state = own.channels() * own.head_dim;
    sizes.row = 5 * own.channels();
  }
  dimensions.mixers = std::make_shared<const MixerSizes>(std::move(sizes));
}

std::optional<MixerSpec> mixer_spec(const ModelSpec& spec, const ConfigReader& config,
                                    Activation activation) {
  if (spec.dimensions.mixers == nullptr) return std::nullopt;
  const MixerRule& rule = *spec.architecture.mixers;
  if (!rule.is_computed()) return std::nullopt;
  const std::int64_t width = spec.dimensions.width;
  const ConfigNumber& of_norms = spec.architecture.norm->epsilon;
  const double epsilon = config.real(of_norms).value_or(of_norms.fallback.value_or(0));
  MixerSpec out{.factor = config.real(rule.output_factor).value_or(1)};
  if (rule.delta_net) {
    out.delta_net = read_delta_net(*rule.delta_net, config);
    out.delta_net->epsilon = epsilon;
    out.delta_net->activation = activation;
  }
  if (rule.short_convolution) {
    out.short_convolution = read_short_convolution(*rule.short_convolution, config, width);
  }
  if (rule.kimi_delta) {
    out.kimi_delta = read_kimi_delta(*rule.kimi_delta, config);
    out.kimi_delta->epsilon = epsilon;
    out.kimi_delta->activation = activation;
  }
  if (rule.rg_lru) {
    out.rg_lru = read_rg_lru(*rule.rg_lru, config, spec.dimensions);
    out.rg_lru->activation = activation;
  }
  if (rule.mamba) {
    out.mamba = read_mamba(*rule.mamba, config, width);
    out.mamba->epsilon = epsilon;
    out.mamba->activation = activation;
  }
  if (rule.mamba2) {
    out.mamba2 = read_mamba2(*rule.mamba2, config, width);
    out.mamba2->epsilon = config.real(rule.mamba2->epsilon).value_or(epsilon);
  }
  if (rule.lightning) {
    out.lightning = read_lightning(*rule.lightning, config, spec.dimensions.heads);
    out.lightning->activation = activation;
  }
  return out;
}

void set_block(LayerSpec& layer, std::int64_t number, const ModelSpec& spec,
               const ConfigReader& config) {
  if (spec.architecture.mixers == nullptr || !spec.architecture.mixers->block) return;
  const SharedBlockRule& rule = *spec.architecture.mixers->block;
  const auto norm = [&](const std::string& tensor) {
    NormSpec own = *layer.attention_input;
    own.tensor = tensor;
    return own;
  };
  if (!spec.dimensions.attends(number)) {
    layer.attention_input = norm(rule.other_norm);
    layer.mlp_input.reset();
    return;
  }
  SharedBlockSpec& block =
      layer.block.emplace(SharedBlockSpec{.projection = rule.projection,
                                          .mixer_norm = norm(rule.mixer_norm),
                                          .adapter_rank = config.required(rule.adapter_rank),
                                          .mlp_adapter = rule.mlp_adapter});
  if (layer.mixer && layer.mixer->mamba2) layer.mixer->mamba2->place = rule.mixer_place;
  if (!config.flag(rule.adapts_attention)) return;
  block.query_adapter = rule.query_adapter;
  block.key_adapter = rule.key_adapter;
  block.value_adapter = rule.value_adapter;
}

std::string unknown_mixer(const ModelSpec& spec) {
  if (spec.dimensions.mixers == nullptr) return "";
  const MixerRule& rule = *spec.architecture.mixers;
  const std::vector<LayerMixer>& layers = spec.dimensions.mixers->layers;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const LayerMixer& own = layers[layer];
    if (own.name.empty() || own.skipped || is_described(rule, own.name)) continue;
    return "layer " + std::to_string(layer) + " has " + own.name +
           (own.attends ? " next to its attention" : " instead of attention") +
           ", which is not supported";
  }
  return "";
}

}  // namespace attnscope
