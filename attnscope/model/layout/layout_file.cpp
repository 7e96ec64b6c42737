#include "attnscope/model/layout/layout_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/model/config/expert_config.h"
#include "attnscope/model/config/layer_config.h"
#include "attnscope/model/config/mixer_config.h"
#include "attnscope/model/head_tensors.h"
#include "attnscope/model/layout/layout_attention.h"
#include "attnscope/model/layout/layout_forward.h"
#include "attnscope/model/layout/layout_layers.h"
#include "attnscope/model/tensor_roles.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::string_view kLayoutSchema = "attnscope-layout/1";

class PatternCheck {
 public:
  explicit PatternCheck(const Model& model) : model_(model) {
    for (const CheckpointTensor& tensor : model.checkpoint().tensors())
      names_.push_back(tensor.name);
    for (const auto& [alias, name] : model.checkpoint().aliases()) names_.push_back(alias);
  }

  /// `pattern`: includes the prefix.
  void need(const std::string& what, const std::string& pattern) const {
    if (matches(pattern) || lies_elsewhere(pattern)) return;
    throw Error(ErrorKind::format,
                {.file = model_.spec().source,
                 .problem = verbatim(what + " '" + pattern + "' matches no tensor of " +
                                     model_.checkpoint().main_file().string() + hint(pattern))});
  }

 private:
  bool matches(const std::string& pattern) const {
    return std::any_of(names_.begin(), names_.end(), [&](std::string_view name) {
      return match_pattern(pattern, name).has_value();
    });
  }

  /// Whether the index assigns such a tensor to a file that lacks it or is missing.
  bool lies_elsewhere(const std::string& pattern) const {
    std::string stem = pattern;
    if (stem.ends_with(".*")) stem.replace(stem.size() - 1, 1, "weight");
    for (std::int64_t layer = 0; layer < model_.dimensions().layers; ++layer) {
      const std::string name = fill_pattern(stem, layer_numbers(model_.dimensions(), layer));
      if (!model_.checkpoint().missing_note(name).empty()) return true;
    }
    return false;
  }

  /// Returns the most similar tensor name of layer 0.
  std::string hint(const std::string& pattern) const {
    const std::string first = fill_pattern(pattern, layer_numbers(model_.dimensions(), 0));
    const auto near = closest(first, names_);
    return near ? " (the nearest name is '" + *near + "')" : "";
  }

  const Model& model_;
  std::vector<std::string> names_;
};

/// Patterns with one tensor per head match the joined tensor by now. Norms are not joined.
std::string head_as_any(std::string pattern) {
  for (auto at = pattern.find(kHeadMark); at != std::string::npos; at = pattern.find(kHeadMark)) {
    pattern.replace(at, kHeadMark.size(), "*");
  }
  return pattern;
}

}  // namespace

ModelSpec parse_layout(std::string_view text, std::string_view where) {
  const json parsed = parse_json(text, where);
  LayoutFields fields(parsed, where);
  const std::string schema = fields.required_text("schema");
  if (schema != kLayoutSchema) {
    fields.fail("'schema' is '" + schema + "', this version reads '" + std::string(kLayoutSchema) +
                "'");
  }

  ModelSpec spec;
  spec.source = std::string(where);
  spec.text = std::string(text);
  Architecture& architecture = spec.architecture;
  architecture.name = fields.text("name", "custom");
  architecture.prefixes = {fields.text("prefix")};
  architecture.causal = {"", fields.flag("causal", true)};
  spec.tied = fields.flag("tied", false);

  Dimensions& dimensions = spec.dimensions;
  dimensions.layers = fields.required_number("layers");
  dimensions.width = fields.required_number("hidden_size");
  HeadShape& heads = dimensions.heads;
  heads.heads = fields.required_number("heads");
  heads.kv_heads = fields.number("kv_heads").value_or(heads.heads);
  heads.head_dim = fields.number("head_dim").value_or(dimensions.width / heads.heads);
  if (fields.find("head_dim") == nullptr && dimensions.width % heads.heads != 0) {
    fields.fail("has no 'head_dim', and 'heads' does not divide 'hidden_size'");
  }
  heads.value_dim = fields.number("value_dim").value_or(heads.head_dim);
  dimensions.mlp_width = fields.number("intermediate_size").value_or(0);
  dimensions.vocabulary = fields.number("vocab_size");
  dimensions.context = fields.number("context_length");
  parse_layout_mla(fields, spec);
  check_dimensions(dimensions, where);

  json config = json::object();
  if (const auto experts = fields.object("experts")) {
    parse_layout_experts(*experts, spec, config);
  }
  if (const auto mixers = fields.object("mixers")) parse_layout_mixers(*mixers, spec, config);
  read_mixers(spec, ConfigReader(&config, where));
  read_expert_dimensions(spec, ConfigReader(&config, where));
  parse_layout_shapes(fields, spec);

  const json* weights = fields.find("weights");
  if (weights == nullptr || !weights->is_array() || weights->empty() ||
      weights->size() > kProjections.size()) {
    fields.fail("'weights' is not a list of 1 to " + std::to_string(kProjections.size()) +
                " projections");
  }
  for (const json& value : *weights) {
    const LayoutFields own(value, where,
                           "weights[" + std::to_string(architecture.weights.size()) + "]");
    WeightRule rule = parse_layout_weight(own);
    for (const WeightRule& other : architecture.weights) {
      if (other.role == rule.role) {
        own.fail('\'' + std::string(role_name(rule.role)) + "' is described twice");
      }
    }
    if (is_of_mlp(rule.role) && dimensions.mlp_width == 0) {
      own.fail(dimensions.experts > 0 ? "every layer has 'experts' instead of an MLP"
                                      : "an MLP matrix requires 'intermediate_size'");
    }
    if (is_beside_experts(rule.role) && dimensions.experts == 0) {
      own.fail('\'' + std::string(role_name(rule.role)) + "' requires 'experts'");
    }
    if (is_beside_experts(rule.role) && rule.role != Role::router && dimensions.shared_width == 0) {
      own.fail('\'' + std::string(role_name(rule.role)) +
               "' requires a 'shared_width' of 'experts'");
    }
    architecture.weights.push_back(std::move(rule));
  }
  check_layout_mla(fields, spec);
  config.update(parse_layout_forward(fields, spec));
  fields.refuse_unknown();
  resolve_layers(spec, ConfigReader(&config, where));
  return spec;
}

void refuse_unmatched_patterns(const Model& model) {
  const PatternCheck check(model);
  const Architecture& architecture = model.spec().architecture;
  const std::string& prefix = model.prefix();
  for (const WeightRule& rule : architecture.weights) {
    const std::string what = "the tensor of '" + std::string(role_name(rule.role)) + "'";
    check.need(what, prefix + head_as_any(rule.tensor));
  }
  const HeadRule& head = architecture.head;
  if (!architecture.embedding.tokens.empty()) {
    const bool is_head = model.spec().tied && model.checkpoint().find_first(head.weight) != nullptr;
    if (!is_head) check.need("'embedding'", prefix + architecture.embedding.tokens);
  }
  for (const TensorRule& site : sites_of(architecture, /*with_optional=*/false)) {
    check.need("the " + site.role, prefix + head_as_any(site.tensor));
  }
  if (!model.spec().tied && !head.weight.empty()) check.need("the LM head", head.weight.front());
  if (!head.dense.empty()) check.need("the 'dense' of 'head'", head.dense);
  if (!head.norm.empty()) check.need("the 'norm' of 'head'", head.norm + ".*");
  if (head.needs_bias) check.need("the 'bias' of 'head'", head.bias.front());
}

std::int64_t last_layer_of_files(const Model& model) {
  std::int64_t last = model.dimensions().layers - 1;
  for (const WeightRule& rule : model.spec().architecture.weights) {
    const std::string pattern = model.prefix() + head_as_any(rule.tensor);
    for (const CheckpointTensor& tensor : model.checkpoint().tensors()) {
      const auto match = match_pattern(pattern, tensor.name);
      if (match) last = std::max(last, match->layer.value_or(0));
    }
  }
  return last;
}

}  // namespace attnscope
