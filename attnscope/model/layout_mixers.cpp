#include "attnscope/model/layout_mixers.h"

#include <nlohmann/json.hpp>
#include <string>

namespace attnscope {
namespace {

using nlohmann::json;

constexpr const char *kKinds = "mixer_kinds", *kAttends = "attention", *kMixer = "mixer";

ConfigKey needed_number(LayoutFields& fields, const char* key) {
  return {"", fields.required_number(key)};
}

DeltaNetRule parse_delta_net(LayoutFields fields) {
  DeltaNetRule rule{.key_heads = needed_number(fields, "key_heads"),
                    .value_heads = needed_number(fields, "value_heads"),
                    .key_dim = needed_number(fields, "key_dim"),
                    .value_dim = needed_number(fields, "value_dim"),
                    .kernel = needed_number(fields, "kernel"),
                    .place = fields.required_text("place"),
                    .by_head = fields.flag("by_head", false)};
  fields.refuse_unknown();
  return rule;
}

ShortConvolutionRule parse_short_convolution(LayoutFields fields) {
  ShortConvolutionRule rule{.kernel = needed_number(fields, "kernel"),
                            .place = fields.required_text("place"),
                            .biased = {"", fields.flag("biased", false)}};
  fields.refuse_unknown();
  return rule;
}

/// Of each layer whether it attends, from the list of those that do not.
json kinds_of(LayoutFields& fields, std::int64_t layers) {
  json kinds(static_cast<std::size_t>(layers), kAttends);
  const json* listed = fields.find("layers");
  if (listed == nullptr || !listed->is_array()) fields.fail("'layers' is not a list of layers");
  for (const json& layer : *listed) {
    if (!layer.is_number_unsigned() ||
        layer.get<std::uint64_t>() >= static_cast<std::uint64_t>(layers)) {
      fields.fail("'layers' lists what is no layer from 0 to " + std::to_string(layers - 1));
    }
    kinds[layer.get<std::size_t>()] = kMixer;
  }
  return kinds;
}

}  // namespace

void parse_layout_mixers(LayoutFields fields, ModelSpec& spec, json& config) {
  MixerRule rule{.list_keys = {kKinds}};
  std::string name = fields.text("name");
  config[kKinds] = kinds_of(fields, spec.dimensions.layers);
  if (const auto own = fields.object("delta_net")) {
    rule.delta_net = parse_delta_net(*own);
    if (name.empty()) name = "Gated DeltaNet";
  }
  if (const auto own = fields.object("short_convolution")) {
    rule.short_convolution = parse_short_convolution(*own);
    if (name.empty()) name = "a short convolution";
  }
  if (rule.delta_net && rule.short_convolution) {
    fields.fail("gives both of 'delta_net' and 'short_convolution'");
  }
  if (name.empty()) fields.fail("has neither 'delta_net' nor 'short_convolution', and no 'name'");
  fields.refuse_unknown();
  rule.kinds = {{.name = kAttends, .attends = true}, {.name = kMixer, .mixer = std::move(name)}};
  spec.architecture.mixers = std::make_shared<MixerRule>(std::move(rule));
}

}  // namespace attnscope
