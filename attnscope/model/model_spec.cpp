#include "attnscope/model/model_spec.h"

#include <algorithm>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

[[noreturn]] void refuse_spec(std::string_view file, std::string problem) {
  throw Error(ErrorKind::format, {.file = std::string(file), .problem = std::move(problem)});
}

}  // namespace

Dimensions largest_dimensions(const ModelSpec& spec) {
  Dimensions out = spec.dimensions;
  for (const Dimensions& own : spec.own_dimensions) {
    for (auto size :
         {&HeadShape::heads, &HeadShape::kv_heads, &HeadShape::head_dim, &HeadShape::value_dim}) {
      out.heads.*size = std::max(out.heads.*size, own.heads.*size);
    }
    out.width = std::max(out.width, own.width);
    out.mlp_width = std::max(out.mlp_width, own.mlp_width);
    out.shared_width = std::max(out.shared_width, own.shared_width);
  }
  return out;
}

std::vector<std::int64_t> Dimensions::attention_layers() const {
  std::vector<std::int64_t> all;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    if (attends(layer)) all.push_back(layer);
  }
  return all;
}

std::string why_not_mixed(const Dimensions& dimensions, Role role, std::int64_t layer) {
  if (dimensions.mixers == nullptr) return "";
  const LayerMixer& own = dimensions.mixers->layers[static_cast<std::size_t>(layer)];
  const std::string has = "layer " + std::to_string(layer) + " has ";
  if (is_attention(role)) {
    return own.attends ? "" : has + own.name + " instead of attention";
  }
  if (own.after != AfterMixer::nothing) return "";
  return has + (own.attends ? "attention" : own.name) + " only";
}

std::pair<std::int64_t, std::int64_t> canonical_shape(const Dimensions& dimensions, Role role) {
  const std::int64_t width = dimensions.width;
  const MlaRanks ranks = dimensions.mla.value_or(MlaRanks{});
  const std::int64_t of_heads = dimensions.heads.total_dim(role);
  const std::int64_t shared = dimensions.heads.shared_key_dim;  // stored once, not per head
  const std::int64_t inputs = dimensions.attention_streams * width;
  switch (role) {
    case Role::key:
    case Role::kv:
      return {of_heads - dimensions.heads.kv_heads * shared + shared, dimensions.key_inputs()};
    case Role::value: return {of_heads, dimensions.key_inputs()};
    case Role::query:
    case Role::attention_gate: return {of_heads, inputs};
    case Role::query_down: return {ranks.query, inputs};
    case Role::query_up: return {of_heads, ranks.query};
    case Role::kv_down: return {ranks.key_value + shared, inputs};
    case Role::kv_up: return {of_heads, ranks.key_value};
    case Role::output: return {width, of_heads};
    case Role::gate:
    case Role::up: return {dimensions.mlp_width, width};
    case Role::down: return {width, dimensions.mlp_width};
    case Role::router: return {dimensions.experts, width};
    case Role::shared_gate:
    case Role::shared_up: return {dimensions.shared_width, width};
    case Role::shared_down: return {width, dimensions.shared_width};
    case Role::qk:
    case Role::ov:
    case Role::qk_content:
    case Role::qk_rotary:
    case Role::qk_latent:
    case Role::ov_latent: break;
  }
  return {width, dimensions.source_width > 0 ? dimensions.source_width : width};
}

Dimensions of_expert(const Dimensions& dimensions) {
  Dimensions own = dimensions;
  own.mlp_width = dimensions.expert_width;
  own.width = dimensions.expert_inputs;
  return own;
}

LayerNumbers layer_numbers(const Dimensions& dimensions, std::int64_t layer) {
  if (dimensions.mixers != nullptr) {
    const LayerMixer& own = dimensions.mixers->layers[static_cast<std::size_t>(layer)];
    return {.layer = layer, .group = own.weights_of, .inner = own.use};
  }
  if (dimensions.places != nullptr) {
    return (*dimensions.places)[static_cast<std::size_t>(layer)];
  }
  if (dimensions.layer_groups == 0) return {.layer = layer};
  // Source: AlbertTransformer.forward: each pass runs all inner layers of its group.
  const auto pass = static_cast<double>(layer / dimensions.layers_per_group);
  const auto passes = static_cast<double>(dimensions.layers / dimensions.layers_per_group);
  // Computed in float64 like the source: if groups do not divide the passes, rounding of the
  // quotient decides where groups begin.
  const double passes_of_group = passes / static_cast<double>(dimensions.layer_groups);
  return {.layer = layer,
          .group = static_cast<std::int64_t>(pass / passes_of_group),
          .inner = layer % dimensions.layers_per_group};
}

void check_dimensions(const Dimensions& dimensions, std::string_view where) {
  const HeadShape& heads = dimensions.heads;
  if (dimensions.layers > kMaxLayers) {
    refuse_spec(where, std::to_string(dimensions.layers) + " layers exceed the limit of " +
                           std::to_string(kMaxLayers));
  }
  if (heads.heads % heads.kv_heads != 0) {
    refuse_spec(where, counted(heads.heads, "head is", "heads are") + " not a multiple of " +
                           counted(heads.kv_heads, "key/value head"));
  }
  const MlaRanks ranks = dimensions.mla.value_or(MlaRanks{});
  if (ranks.key_value > kMaxSize - heads.shared_key_dim) {
    refuse_spec(where, "a KV latent of " + counted(ranks.key_value, "dimension") +
                           " and a rotary key of " + std::to_string(heads.shared_key_dim) +
                           " exceed the limit of " + std::to_string(kMaxSize));
  }
  // Products of these sizes then stay far below the 64-bit limit.
  for (const std::int64_t size : {heads.head_dim, heads.value_dim, heads.inner_dim(Role::kv_up)}) {
    if (heads.heads > kMaxSize / size) {
      refuse_spec(where, counted(heads.heads, "head") + " of " + counted(size, "dimension") +
                             (heads.heads == 1 ? " is" : " are") + " above the limit of " +
                             std::to_string(kMaxSize));
    }
  }
}

}  // namespace attnscope
