#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/core/text.h"
#include "attnscope/model/norm_config.h"
#include "attnscope/model/stream_config.h"

namespace attnscope {

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

}  // namespace attnscope
