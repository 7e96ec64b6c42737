#include "attnscope/model/norm_config.h"

namespace attnscope {

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

}  // namespace attnscope
