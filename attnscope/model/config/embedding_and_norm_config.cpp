#include "attnscope/model/config/embedding_and_norm_config.h"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnscope/base/text.h"
#include "attnscope/tensor/low_precision.h"

namespace attnscope {
namespace {

/// Sets the size of images: one number for both sides, or a list of rows and columns.
void set_image_size(PatchSpec& patches, const ConfigReader& config) {
  const ConfigKey& key = patches.rule.image_size;
  const nlohmann::json* found = config.find(key.name);
  if (found == nullptr || !found->is_array()) {
    patches.image_rows = patches.image_cols = config.required(key);
    return;
  }
  const std::vector<std::int64_t> sides = config.numbers(key.name, /*least=*/1);
  if (sides.size() != 2) {
    config.refuse("'" + key.name + "' lists " + counted(sides.size(), "side") + ", expected 2");
  }
  patches.image_rows = sides[0];
  patches.image_cols = sides[1];
}

}  // namespace

void set_stream(ModelSpec& spec, const ConfigReader& config) {
  const Architecture& architecture = spec.architecture;
  const NormRule& norms = *architecture.norm;
  StreamSpec& stream = spec.stream;
  EmbeddingRule& embedding = stream.embedding;
  embedding = architecture.embedding;
  if (!config.flag(embedding.has_positions)) embedding.positions.clear();
  if (config.number(embedding.type_count, /*least=*/0) == 0) embedding.types.clear();
  if (!config.flag(embedding.has_added)) embedding.added.clear();
  if (!config.flag(embedding.has_norm)) embedding.norm.clear();
  stream.embedding_norm = norm_at(norms, config, embedding.norm);
  const auto own_epsilon = config.real(norms.embedding_epsilon);
  if (stream.embedding_norm && own_epsilon) stream.embedding_norm->epsilon = *own_epsilon;
  const std::int64_t width = spec.dimensions.width;
  if (embedding.waves && (width % 2 != 0 || width < 4) && spec.not_run.empty()) {
    spec.not_run =
        "a hidden size of " + std::to_string(width) + " is too small for sinusoidal positions";
  }
  stream.embedding_width = config.number(embedding.width).value_or(width);
  const bool if_narrow = embedding.projects_tokens || embedding.projects_if_narrow;
  stream.has_projection =
      !embedding.projection.empty() && (!if_narrow || stream.embedding_width != width);
  stream.embedding_factor = config.flag(embedding.times_sqrt_width)
                                ? std::sqrt(static_cast<double>(width))
                                : config.positive(architecture.multipliers.embedding).value_or(1);
  if (embedding.rounds_root) {
    stream.embedding_factor =
        static_cast<double>(rounded_to_bfloat16(static_cast<float>(stream.embedding_factor)));
  }
  if (config.flag(embedding.drops_masked)) {
    stream.dropped_token = config.number(embedding.masked_token, /*least=*/0);
    if (!stream.dropped_token && spec.not_run.empty()) {
      spec.not_run = "'" + embedding.drops_masked.name + "' is true, but '" +
                     embedding.masked_token.name + "' is missing";
    }
  }
  if (architecture.longest) {
    const LongestRule& longest = *architecture.longest;
    const std::int64_t more = config.number(longest.more_units, /*least=*/0).value_or(0);
    stream.longest = config.required(longest.unit) * (longest.units + 2 * more);
  }
  stream.padding_token = config.number(architecture.padding_token, /*least=*/0).value_or(0);
  if (config.flag(norms.first) && !config.flag(norms.without_last)) {
    stream.last_norm = norm_at(norms, config, norms.last);
    const auto epsilon = config.real(norms.last_epsilon);
    if (stream.last_norm && epsilon) stream.last_norm->epsilon = *epsilon;
  }
  if (norms.bare_stream) stream.embedding_norm = norm_named(norms, config, "");
  stream.shows_last_normed = norms.shows_last;
  if (architecture.audio) {
    const std::string unknown = set_audio(spec, config);
    if (spec.not_run.empty()) spec.not_run = unknown;
  }
  if (!architecture.patches) return;
  const PatchRule& patches = *architecture.patches;
  stream.patches = PatchSpec{.rule = patches,
                             .size = config.required(patches.patch_size),
                             .channels = config.required(patches.channels),
                             .registers = config.number(patches.register_count, 0).value_or(0)};
  if (!config.flag(patches.has_positions)) stream.patches->rule.positions.clear();
  if (patches.patch_count.name.empty()) return set_image_size(*stream.patches, config);
  const std::int64_t count = config.required(patches.patch_count);
  const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(count)));
  if (side * side != count) {
    config.refuse("'" + patches.patch_count.name + "' is " + std::to_string(count) +
                  ", which is not a square");
  }
  stream.patches->image_rows = stream.patches->image_cols = side * stream.patches->size;
}

NormSpec norm_named(const NormRule& rule, const ConfigReader& config, const std::string& tensor) {
  const double standard = rule.epsilon.fallback.value_or(0);
  return {.kind = rule.kind,
          .epsilon = config.real(rule.epsilon).value_or(standard),
          .gain_offset = config.real(rule.gain_offset).value_or(0),
          .tensor = config.flag(rule.affine) ? tensor : "",
          .biased = config.flag(rule.biased)};
}

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
  layer.attention_heads = norm(rule.attention_heads);
  layer.mlp_hidden = norm(rule.mlp_hidden);
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

std::string set_audio(ModelSpec& spec, const ConfigReader& config) {
  const AudioRule& rule = *spec.architecture.audio;
  const auto list = [&](const ConfigList& of) {
    const auto found =
        of.name.empty() ? std::vector<std::int64_t>{} : config.numbers(of.name, /*least=*/1);
    return found.empty() ? of.fallback : found;
  };
  std::vector<std::int64_t> widths = list(rule.widths);
  const std::vector<std::int64_t> kernels = list(rule.kernels), strides = list(rule.strides);
  if (widths.empty()) widths.assign(kernels.size(), spec.dimensions.width);
  for (std::size_t at = 0; at < rule.width_factors.size(); ++at) {
    widths[at] *= rule.width_factors[at];
  }
  const bool none = rule.kernels.name.empty() && rule.kernels.fallback.empty();
  if (widths.size() != kernels.size() || widths.size() != strides.size() ||
      widths.empty() != none) {
    config.refuse("'" + rule.kernels.name + "', '" + rule.strides.name + "' and '" +
                  rule.widths.name + "' have different lengths");
  }
  AudioSpec& audio = spec.stream.audio.emplace();
  audio.of_waves = rule.of_waves;
  audio.frames_first = rule.frames_first;
  audio.features = rule.of_waves ? 1 : config.required(rule.features);
  const std::string kind = config.text(rule.norm_key);
  const auto numbered = [](std::string pattern, std::int64_t number) {
    const std::string mark = "{number}";
    const auto at = pattern.find(mark);
    if (at != std::string::npos) pattern.replace(at, mark.size(), std::to_string(number));
    return pattern;
  };
  for (std::size_t at = 0; at < widths.size(); ++at) {
    const auto number = static_cast<std::int64_t>(at);
    AudioConvolution& own = audio.convolutions.emplace_back(
        AudioConvolution{.name = numbered(rule.place, rule.first_number + number),
                         .outputs = widths[at],
                         .kernel = kernels[at],
                         .stride = strides[at],
                         .padding = rule.padding});
    if (at == 0 && !rule.norm_of_first.empty()) {
      own.norm = AudioNorm::all;
      own.norm_name = rule.norm_of_first;
    }
    if (rule.norm.empty()) continue;
    own.norm_name = numbered(rule.norm, number);
    if (kind == "layer") own.norm = AudioNorm::frames;
    if (kind != "layer" && at == 0) own.norm = AudioNorm::channels;
  }
  if (config.flag(rule.has_projection_norm)) {
    audio.projection_norm = norm_at(*spec.architecture.norm, config, rule.projection_norm);
  }
  audio.projection = rule.projection;
  if (!rule.position_convolution.empty()) {
    audio.position_convolution =
        AudioPositionConvolution{.name = rule.position_convolution,
                                 .kernel = config.required(rule.position_convolution_kernel),
                                 .groups = config.required(rule.position_convolution_groups)};
    if (spec.dimensions.width % audio.position_convolution->groups != 0) {
      config.refuse("the hidden size is not a multiple of '" +
                    rule.position_convolution_groups.name + "'");
    }
  }
  for (const ConfigFlag& flag : rule.unsupported) {
    if (config.flag(flag)) return "'" + flag.name + "' is true, which is not supported";
  }
  if (!kind.empty() && kind != "group" && kind != "layer") {
    return "'" + rule.norm_key + "' " + printable(kind) + " is not known";
  }
  const std::string named = config.text(rule.activation_key);
  const auto activation = activation_from_name(named.empty() ? rule.activation : named);
  if (!activation) return "activation '" + printable(named) + "' is not known";
  audio.activation = *activation;
  for (AudioConvolution& own : audio.convolutions) own.activation = *activation;
  if (!rule.first_activation.empty() && !audio.convolutions.empty()) {
    audio.convolutions.front().activation = *activation_from_name(rule.first_activation);
  }
  return "";
}

}  // namespace attnscope
