#include "attnscope/model/layout/layout_forward.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnscope/model/layout/layout_attention.h"
#include "attnscope/model/layout/layout_layers.h"
#include "attnscope/model/tensor_names.h"

namespace attnscope {
namespace {

using nlohmann::json;

NormRule parse_norms(LayoutFields fields) {
  const auto kind =
      fields.choice<NormKind>("kind", {{"layer", NormKind::layer}, {"rms", NormKind::rms}});
  const auto epsilon = fields.not_negative("epsilon");
  if (!epsilon) fields.fail("has no 'epsilon'");
  const bool bare_heads = fields.flag("bare_heads", false);
  NormRule norms{.kind = kind,
                 .epsilon = constant(epsilon),
                 .gain_offset = {"", fields.not_negative("gain_offset").value_or(0)},
                 .affine = {"", fields.flag("affine", true)},
                 .biased = {"", fields.flag("biased", true)},
                 .attention_input = fields.text("attention_input"),
                 .attention_output = fields.text("attention_output"),
                 .attention_sum = fields.text("attention_sum"),
                 .mlp_input = fields.text("mlp_input"),
                 .mlp_output = fields.text("mlp_output"),
                 .mlp_sum = fields.text("mlp_sum"),
                 .last = fields.text("last"),
                 .query = fields.text("query"),
                 .key = fields.text("key"),
                 .head_axis = fields.choice<HeadNormAxis>("head_axis",
                                                          {{"head", HeadNormAxis::head},
                                                           {"each_head", HeadNormAxis::each_head},
                                                           {"all_heads", HeadNormAxis::all_heads}}),
                 .heads_biased = fields.flag("heads_biased", true),
                 .after_rotation = fields.flag("after_rotation", false),
                 .bare_heads = {"", bare_heads || fields.flag("bare_queries_and_keys", false)},
                 .bare_values = bare_heads || fields.flag("bare_values", false),
                 .heads_if_rotated = fields.flag("heads_if_rotated", false),
                 .bare_stream = fields.flag("bare_stream", false),
                 .not_in_first_layer = fields.flag("not_in_first_layer", false),
                 .replaces_stream = {"", fields.flag("replaces_stream", false)}};
  fields.refuse_unknown();
  return norms;
}

/// A string instead of an object is the name of the token embedding.
void parse_embedding(LayoutFields& fields, Architecture& architecture) {
  EmbeddingRule& embedding = architecture.embedding;
  const json* found = fields.find("embedding");
  if (found == nullptr || found->is_string()) {
    embedding.tokens = fields.text("embedding");
    return;
  }
  LayoutFields own = *fields.object("embedding");
  embedding = {.tokens = own.required_text("tokens"),
               .positions = own.text("positions"),
               .position_offset = own.number("position_offset", /*least=*/0).value_or(0),
               .types = own.text("types"),
               .norm = own.text("norm"),
               .projection = own.text("projection"),
               .projects_tokens = own.flag("projects_tokens", false),
               .norms_projected = own.flag("norms_projected", false),
               .width = {"", own.number("width")},
               .times_sqrt_width = {"", own.flag("times_sqrt_width", false)},
               .last_projection = own.text("last_projection")};
  if (const auto padding = own.number("positions_after_padding", /*least=*/0)) {
    embedding.positions_after_padding = true;
    architecture.padding_token = {"", padding};
  }
  if (const auto masked = own.number("dropped_token", /*least=*/0)) {
    embedding.drops_masked = {"", true};
    embedding.masked_token = {"", masked};
  }
  if (embedding.width.fallback && embedding.projection.empty()) {
    own.fail("'width' requires a 'projection'");
  }
  own.refuse_unknown();
}

ConvolutionRule parse_convolution(LayoutFields fields) {
  ConvolutionRule rule{.kernel = {"", fields.required_number("kernel")},
                       .groups = {"", 1},
                       .tensor = fields.required_text("tensor"),
                       .norm = fields.required_text("norm"),
                       .activation = fields.required_text("activation")};
  fields.refuse_unknown();
  return rule;
}

void parse_head(LayoutFields& fields, HeadRule& head) {
  std::string weight = fields.text("lm_head");
  auto own = fields.object("head");
  if (own && !weight.empty()) {
    fields.fail("'lm_head' and the 'weight' of 'head' are the same tensor: specify one of them");
  }
  if (own) weight = own->text("weight");
  head.needed = own.has_value() || !weight.empty();
  if (!weight.empty()) {
    head.weight = {weight};
    head.bias = bias_names(weight);
  }
  if (!own) return;
  if (const std::string name = own->text("bias"); !name.empty()) {
    head.bias = {name};
    head.needs_bias = true;
  }
  head.dense = own->text("dense");
  head.norm = own->text("norm");
  head.activation = own->text("activation");
  head.soft_cap = constant(own->positive("soft_cap"));
  head.none = own->text("no_logits");
  if (head.dense.empty() != head.norm.empty()) own->fail("'dense' and 'norm' require each other");
  if (head.dense.empty() && !head.activation.empty()) own->fail("'activation' requires 'dense'");
  own->refuse_unknown();
}

/// If layers end with their attention, no other MLP setting is allowed.
void refuse_mlp(const LayoutFields& fields, const ModelSpec& spec) {
  const Architecture& architecture = spec.architecture;
  const auto says = [&](const char* key) {
    fields.fail(std::string("'mlp' is false, but '") + key + "' describes an MLP");
  };
  const auto is_mlp = [](Role role) { return !is_attention(role); };
  if (spec.dimensions.mlp_width > 0) says("intermediate_size");
  if (spec.dimensions.experts > 0) says("experts");
  for (const WeightRule& rule : architecture.weights) {
    if (is_mlp(rule.role)) says("weights");
  }
  for (const BiasRule& rule : architecture.biases) {
    if (std::any_of(rule.roles.begin(), rule.roles.end(), is_mlp)) says("biases");
  }
  if (!architecture.activation.empty()) says("activation");
  if (architecture.parallel.fallback) says("parallel");
  const NormRule& norm = *architecture.norm;
  if (!norm.mlp_input.empty() || !norm.mlp_output.empty() || !norm.mlp_sum.empty()) says("norms");
}

/// Norms of the sums after attention or MLP are impossible if both are added in parallel.
void refuse_norms_between(const LayoutFields& fields, const NormRule& norms) {
  for (const auto& [key, name] : {std::pair{"attention_sum", norms.attention_sum},
                                  {"mlp_output", norms.mlp_output},
                                  {"mlp_sum", norms.mlp_sum}}) {
    if (name.empty()) continue;
    fields.fail("'parallel' adds the outputs of attention and MLP together, which excludes '" +
                std::string(key) + "' of 'norms'");
  }
}

}  // namespace

json parse_layout_forward(LayoutFields& fields, ModelSpec& spec) {
  Architecture& architecture = spec.architecture;
  json config = json::object();
  parse_embedding(fields, architecture);
  parse_head(fields, architecture.head);
  if (const auto norms = fields.object("norms")) architecture.norm = parse_norms(*norms);
  if (const auto attention = fields.object("attention")) {
    parse_layout_attention(*attention, spec, config);
  }
  if (const auto rope = fields.object("rope")) {
    architecture.rope = parse_layout_rope(*rope, spec.dimensions, config);
  }
  if (auto multipliers = fields.object("multipliers")) {
    architecture.multipliers = {.embedding = constant(multipliers->positive("embedding")),
                                .branches = constant(multipliers->positive("branches")),
                                .logits = constant(multipliers->positive("logits")),
                                .layer_output = multipliers->text("layer_output")};
    multipliers->refuse_unknown();
  }
  if (const auto layer_input = fields.object("layer_input")) {
    architecture.per_layer_input = parse_layout_layer_input(*layer_input);
  }
  if (const auto convolution = fields.object("convolution")) {
    architecture.convolution = parse_convolution(*convolution);
  }
  architecture.activation = fields.text("activation");
  architecture.parallel = {"", fields.flag("parallel", false)};
  if (std::vector<Role> biased = fields.roles("biases"); !biased.empty()) {
    architecture.biases = {{std::move(biased)}};
  }
  architecture.has_mlp = fields.flag("mlp", true);
  if (!architecture.norm) {
    for (const char* key : {"attention", "rope", "multipliers", "layer_input", "convolution",
                            "activation", "parallel", "biases", "mlp"}) {
      if (fields.find(key) != nullptr) {
        fields.fail("'" + std::string(key) + "' requires 'norms'");
      }
    }
    return config;
  }
  if (!architecture.has_mlp) refuse_mlp(fields, spec);
  if (architecture.parallel.fallback) refuse_norms_between(fields, *architecture.norm);
  if (architecture.activation.empty()) {
    if (spec.dimensions.mlp_width > 0 || spec.dimensions.experts > 0)
      fields.fail("has 'norms' and an MLP, but no 'activation'");
    architecture.activation = "linear";
  }
  return config;
}

}  // namespace attnscope
