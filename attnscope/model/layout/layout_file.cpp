// A layout file: an architecture and its numbers in one file, for checkpoints that are not in
// the list. docs/formats.md describes it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/model/config/expert_config.h"
#include "attnscope/model/config/layer_config.h"
#include "attnscope/model/config/mixer_config.h"
#include "attnscope/model/head_tensors.h"
#include "attnscope/model/layout/layout_attention.h"
#include "attnscope/model/layout/layout_forward.h"
#include "attnscope/model/layout/layout_layers.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::string_view kLayoutSchema = "attnscope-layout/1";

/// One tensor for each head: of which projections, and of what kind.
void check_head_mark(const WeightRule& rule, const LayoutFields& fields) {
  if (rule.tensor.find(kHeadMark) == std::string::npos) return;
  const bool has_heads = rule.role == Role::query || rule.role == Role::key ||
                         rule.role == Role::value || rule.role == Role::output;
  if (!has_heads) fields.fail("'{head}' in 'tensor': only q, k, v and o have heads");
  if (!rule.fused.empty() || rule.index) {
    fields.fail("'{head}' in 'tensor' excludes 'fused' and 'index'");
  }
}

}  // namespace

WeightRule parse_layout_weight(LayoutFields fields) {
  WeightRule rule;
  const json* role = fields.find("role");
  if (role == nullptr) fields.fail("has no 'role'");
  rule.role = parse_layout_role(*role, fields);
  rule.tensor = fields.required_text("tensor");
  rule.storage = fields.choice<Storage>(
      "storage", {{"out_by_in", Storage::out_by_in}, {"in_by_out", Storage::in_by_out}});
  rule.groups = fields.choice<std::int64_t>("order", {{"blocks", 1},
                                                      {"per_kv_head", kPerKvHead},
                                                      {"per_head", kPerHead},
                                                      {"alternating", kPerRow}});
  if (const auto groups = fields.number("groups")) {
    if (rule.groups != 1) fields.fail("'groups' and 'order' exclude each other");
    rule.groups = *groups;
  }
  rule.index = fields.number("index", /*least=*/0);
  rule.bias = fields.text("bias");
  rule.fused = fields.roles("fused");
  if (!rule.fused.empty() && std::count(rule.fused.begin(), rule.fused.end(), rule.role) != 1) {
    fields.fail("'fused' must list the rule's own role once");
  }
  if (rule.groups != 1 && rule.fused.empty()) fields.fail("'groups' are those of a 'fused' tensor");
  for (const Role part : rule.fused) {
    const bool per_head = part == Role::query || part == Role::key || part == Role::value;
    if (rule.groups == kPerKvHead && !per_head) {
      fields.fail("only q, k and v can be fused per_kv_head");
    }
    if (rule.groups == kPerHead && part != Role::query && part != Role::attention_gate) {
      fields.fail("only q and attention_gate can be fused per_head");
    }
    if (rule.groups == kPerRow &&
        canonical_shape({.width = 2, .mlp_width = 1, .shared_width = 1}, part).first != 1) {
      fields.fail("only gates and ups can be fused alternating");
    }
  }
  check_head_mark(rule, fields);
  fields.refuse_unknown();
  return rule;
}

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
  dimensions.width = fields.required_number("width");
  HeadShape& heads = dimensions.heads;
  heads.heads = fields.required_number("heads");
  heads.kv_heads = fields.number("kv_heads").value_or(heads.heads);
  heads.head_dim = fields.required_number("head_dim");
  heads.value_dim = fields.number("value_dim").value_or(heads.head_dim);
  dimensions.mlp_width = fields.number("mlp_width").value_or(0);
  dimensions.vocabulary = fields.number("vocabulary");
  dimensions.context = fields.number("context");
  parse_layout_latent(fields, spec);
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
      own.fail(dimensions.experts > 0 ? "every layer has 'experts' in place of an MLP"
                                      : "an MLP matrix needs 'mlp_width'");
    }
    if (is_beside_experts(rule.role) && dimensions.experts == 0) {
      own.fail('\'' + std::string(role_name(rule.role)) + "' needs 'experts'");
    }
    if (is_beside_experts(rule.role) && rule.role != Role::router && dimensions.shared_width == 0) {
      own.fail('\'' + std::string(role_name(rule.role)) + "' needs a 'shared_width' of 'experts'");
    }
    architecture.weights.push_back(std::move(rule));
  }
  check_layout_latent(fields, spec);
  config.update(parse_layout_forward(fields, spec));
  fields.refuse_unknown();
  resolve_layers(spec, ConfigReader(&config, where));
  return spec;
}

}  // namespace attnscope
