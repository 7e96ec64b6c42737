// A layout file: an architecture and its numbers in one file, for checkpoints that are not in
// the list. docs/formats.md describes it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "attnscope/core/error.h"
#include "attnscope/core/strict_json.h"
#include "attnscope/core/text.h"
#include "attnscope/model/layer_config.h"
#include "attnscope/model/spec.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::string_view kLayoutSchema = "attnscope-layout/1";

/// One JSON object that is read field by field; what nobody asked for is a typing error.
class Fields {
 public:
  Fields(const json& object, std::string_view file, std::string place = "")
      : object_(object), file_(file), place_(std::move(place)) {
    if (!object.is_object()) fail("is not a JSON object");
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::format, {.file = file_, .place = place_, .problem = verbatim(problem)});
  }

  const json* find(const std::string& key) {
    known_.push_back(key);
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  std::optional<std::int64_t> number(const std::string& key, std::int64_t least = 1) {
    const json* found = find(key);
    if (found == nullptr) return std::nullopt;
    if (!found->is_number_integer() || found->get<std::int64_t>() < least ||
        found->get<std::int64_t>() > kMaxSize) {
      fail("'" + key + "' is not a whole number from " + std::to_string(least) + " to " +
           std::to_string(kMaxSize));
    }
    return found->get<std::int64_t>();
  }

  std::int64_t required_number(const std::string& key) {
    const auto value = number(key);
    if (!value) fail("has no '" + key + "'");
    return *value;
  }

  std::string text(const std::string& key, const std::string& fallback) {
    const json* found = find(key);
    if (found == nullptr) return fallback;
    if (!found->is_string()) fail("'" + key + "' is not a string");
    return found->get<std::string>();
  }

  std::string required_text(const std::string& key) {
    std::string value = text(key, "");
    if (value.empty()) fail("has no '" + key + "'");
    return value;
  }

  bool flag(const std::string& key, bool fallback) {
    const json* found = find(key);
    if (found == nullptr) return fallback;
    if (!found->is_boolean()) fail("'" + key + "' is not true or false");
    return found->get<bool>();
  }

  /// Call last.
  void refuse_unknown() const {
    for (const auto& [key, value] : object_.items()) {
      if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
        fail("unknown field '" + key + "'" + suggestion(key, known_));
      }
    }
  }

 private:
  const json& object_;
  std::string file_;
  std::string place_;  // in the file
  std::vector<std::string> known_;
};

Role parse_role(const json& value, const Fields& fields) {
  if (!value.is_string()) fields.fail("a role is not a string");
  const auto& name = value.get_ref<const std::string&>();
  const auto role = role_from_name(name);
  if (!role || !is_projection(*role)) {
    std::vector<std::string> names;
    for (const Role projection : kProjections) names.emplace_back(role_name(projection));
    fields.fail("unknown role '" + name + "' (roles: " + join(names) + ")");
  }
  return *role;
}

template <class Enum>
Enum parse_choice(Fields& fields, const std::string& key,
                  std::initializer_list<std::pair<std::string_view, Enum>> choices) {
  const std::string text = fields.text(key, std::string(choices.begin()->first));
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    names.emplace_back(name);
  }
  fields.fail("'" + key + "' is '" + text + "' (choices: " + join(names) + ")");
}

WeightRule parse_rule(Fields fields) {
  WeightRule rule;
  const json* role = fields.find("role");
  if (role == nullptr) fields.fail("has no 'role'");
  rule.role = parse_role(*role, fields);
  rule.tensor = fields.required_text("tensor");
  rule.storage = parse_choice<Storage>(
      fields, "storage", {{"out_by_in", Storage::out_by_in}, {"in_by_out", Storage::in_by_out}});
  rule.fused_order = parse_choice<FusedOrder>(
      fields, "order", {{"blocks", FusedOrder::blocks}, {"per_kv_head", FusedOrder::per_kv_head}});
  rule.index = fields.number("index", /*least=*/0);
  if (const json* fused = fields.find("fused")) {
    if (!fused->is_array() || fused->empty() || fused->size() > kProjections.size()) {
      fields.fail("'fused' is not a list of roles");
    }
    for (const json& part : *fused) rule.fused.push_back(parse_role(part, fields));
    if (std::count(rule.fused.begin(), rule.fused.end(), rule.role) != 1) {
      fields.fail("'fused' must list the rule's own role once");
    }
    for (const Role part : rule.fused) {
      if (std::count(rule.fused.begin(), rule.fused.end(), part) != 1) {
        fields.fail("'fused' lists a role twice");
      }
      const bool per_head = part == Role::query || part == Role::key || part == Role::value;
      if (rule.fused_order == FusedOrder::per_kv_head && !per_head) {
        fields.fail("only q, k and v can be fused per_kv_head");
      }
    }
  }
  fields.refuse_unknown();
  return rule;
}

}  // namespace

ModelSpec parse_layout(std::string_view text, std::string_view where) {
  const json parsed = parse_json(text, where);
  Fields fields(parsed, where);
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
  architecture.prefixes = {fields.text("prefix", "")};
  architecture.embedding.tokens = fields.text("embedding", "");
  if (const std::string head = fields.text("output_head", ""); !head.empty()) {
    architecture.head.weight = {head};
  }
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
  check_dimensions(dimensions, where);

  const json* weights = fields.find("weights");
  if (weights == nullptr || !weights->is_array() || weights->empty() ||
      weights->size() > kProjections.size()) {
    fields.fail("'weights' is not a list of 1 to 7 projections");
  }
  for (const json& value : *weights) {
    const Fields own(value, where, "weights[" + std::to_string(architecture.weights.size()) + "]");
    WeightRule rule = parse_rule(own);
    for (const WeightRule& other : architecture.weights) {
      if (other.role == rule.role) {
        own.fail('\'' + std::string(role_name(rule.role)) + "' is described twice");
      }
    }
    if (!is_attention(rule.role) && dimensions.mlp_width == 0) {
      own.fail("an MLP matrix needs 'mlp_width'");
    }
    architecture.weights.push_back(std::move(rule));
  }
  fields.refuse_unknown();
  resolve_layers(spec, ConfigReader(nullptr, where));
  return spec;
}

}  // namespace attnscope
