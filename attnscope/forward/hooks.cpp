#include "attnscope/forward/hooks.h"

#include <algorithm>
#include <cstddef>

#include "attnscope/forward/weights/mixer_weights.h"

namespace attnscope {
namespace {

constexpr std::array<std::string_view, 37> kHookNames = {"resid_pre",
                                                         "resid_mid",
                                                         "resid_mid_cross",
                                                         "resid_post",
                                                         "q",
                                                         "k",
                                                         "v",
                                                         "q_normed",
                                                         "k_normed",
                                                         "rot_q",
                                                         "rot_k",
                                                         "attn_scores",
                                                         "pattern",
                                                         "z_before_gate",
                                                         "z",
                                                         "result",
                                                         "attn_out",
                                                         "cross_q",
                                                         "cross_k",
                                                         "cross_v",
                                                         "cross_attn_scores",
                                                         "cross_pattern",
                                                         "cross_z",
                                                         "cross_result",
                                                         "cross_attn_out",
                                                         "mixer_out",
                                                         "mlp_pre",
                                                         "mlp_pre_linear",
                                                         "mlp_post",
                                                         "router_logits",
                                                         "expert_index",
                                                         "expert_weight",
                                                         "expert_out",
                                                         "shared_expert_out",
                                                         "mlp_out",
                                                         "final_norm",
                                                         "logits"};
static_assert(kHookNames.size() == static_cast<std::size_t>(HookPoint::logits) + 1);

std::optional<HookShape> shape_if(bool exists, Shape axes, bool has_heads = false) {
  if (!exists) return std::nullopt;
  return HookShape{.axes = std::move(axes), .has_heads = has_heads};
}

/// Shapes of the cross-attention of a layer.
std::optional<HookShape> cross_shape(const CrossWeights& cross, HookPoint point,
                                     std::int64_t width) {
  using enum HookPoint;
  const HeadShape& heads = cross.heads;
  HookShape shape{.axes = {heads.heads}, .has_heads = true};
  switch (point) {
    case cross_q: shape.axes = {heads.heads, heads.head_dim}; break;
    case cross_k:
      shape.axes = {heads.kv_heads, heads.head_dim};
      shape.of_source = true;
      break;
    case cross_v:
      shape.axes = {heads.kv_heads, heads.value_dim};
      shape.of_source = true;
      break;
    case cross_attn_scores:
    case cross_pattern: break;
    case cross_z: shape.axes = {heads.heads, heads.value_dim}; break;
    case cross_result: shape.axes = {heads.heads, width}; break;
    default: shape = {.axes = {width}}; break;  // cross_attn_out, resid_mid_cross
  }
  return shape;
}

std::optional<HookShape> attention_shape(const ModelSpec& spec, const LayerWeights& weights,
                                         HookPoint point, std::int64_t layer) {
  using enum HookPoint;
  if (weights.output == nullptr) return std::nullopt;
  const AttentionSpec& attention = spec.layers[static_cast<std::size_t>(layer)].attention;
  const HeadShape& heads = spec.dimensions_of(layer).heads;
  const bool has_keys = !spec.sharing_of(layer).from;
  const bool windows = attention.windows.has_value();
  const bool rotates = attention.rope || attention.patch_rotation;
  const Shape queries = {heads.heads, heads.head_dim}, keys = {heads.kv_heads, heads.head_dim};
  switch (point) {
    case q: return shape_if(true, queries, true);
    case k: return shape_if(has_keys, keys, true);
    case v: return shape_if(has_keys, {heads.kv_heads, heads.value_dim}, true);
    case q_normed: return shape_if(weights.query_norm && !windows, queries, true);
    case k_normed: return shape_if(weights.key_norm && has_keys && !windows, keys, true);
    case rot_q: return shape_if(rotates && !windows, queries, true);
    case rot_k: return shape_if(rotates && has_keys && !windows, keys, true);
    case attn_scores:
    case pattern: return shape_if(!windows, {heads.heads}, true);
    case z_before_gate:
      return shape_if(weights.attention_gate != nullptr || weights.attention_heads,
                      {heads.heads, heads.value_dim}, true);
    case z: return shape_if(true, {heads.heads, heads.value_dim}, true);
    case result: return shape_if(true, {heads.heads, weights.output->weights.outputs()}, true);
    default: return shape_if(!weights.block, {weights.output->weights.outputs()});  // attn_out
  }
}

std::optional<HookShape> mlp_shape(const ModelSpec& spec, const LayerWeights& weights,
                                   HookPoint point, std::int64_t layer) {
  using enum HookPoint;
  const bool dense = weights.up != nullptr && !weights.experts;
  const std::int64_t width = spec.dimensions_of(layer).width;
  const Shape wide = {dense ? weights.up->weights.outputs() : 0};
  switch (point) {
    case mlp_pre:
    case mlp_post: return shape_if(dense, wide);
    case mlp_pre_linear: return shape_if(dense && weights.gate != nullptr, wide);
    case mlp_out: return shape_if((dense || weights.experts) && !weights.block, {width});
    default: break;
  }
  if (!weights.experts) return std::nullopt;
  const ExpertWeights& experts = *weights.experts;
  const std::int64_t chosen = spec.layers[static_cast<std::size_t>(layer)].experts->chosen;
  switch (point) {
    case router_logits: return shape_if(true, {spec.dimensions.experts});
    case expert_index:
    case expert_weight: return shape_if(true, {chosen});
    case expert_out: return shape_if(experts.latent_up == nullptr, {chosen, width});
    default: return shape_if(experts.shared_up != nullptr, {width});  // shared_expert_out
  }
}

}  // namespace

std::span<const std::string_view> hook_names() { return kHookNames; }

std::string_view hook_name(HookPoint point) { return kHookNames[static_cast<std::size_t>(point)]; }

std::optional<HookPoint> hook_from_name(std::string_view name) {
  const auto found = std::find(kHookNames.begin(), kHookNames.end(), name);
  if (found == kHookNames.end()) return std::nullopt;
  return static_cast<HookPoint>(found - kHookNames.begin());
}

bool is_of_model(HookPoint point) {
  return point == HookPoint::final_norm || point == HookPoint::logits;
}

bool is_map(HookPoint point) {
  using enum HookPoint;
  return point == attn_scores || point == pattern || point == cross_attn_scores ||
         point == cross_pattern;
}

std::int64_t HookShape::columns() const {
  std::int64_t columns = 1;
  for (const std::int64_t axis : axes) columns *= axis;
  return columns;
}

std::optional<HookShape> hook_shape(const ForwardPass& pass, HookPoint point, std::int64_t layer) {
  using enum HookPoint;
  const ModelSpec& spec = pass.model().spec();
  if (point == logits) return shape_if(pass.no_logits().empty(), {pass.logits_width()});
  if (point == final_norm) {
    return shape_if(pass.weights().last_norm.has_value(), {spec.dimensions.width});
  }
  const LayerWeights& weights = pass.weights().layers[static_cast<std::size_t>(layer)];
  const std::int64_t width = spec.dimensions_of(layer).width;
  const bool has_mlp = weights.up != nullptr || weights.experts;
  switch (point) {
    case resid_pre: return shape_if(true, {width});
    case resid_post: return shape_if(!weights.merging, {width});
    case resid_mid: {
      const bool parallel = spec.layers[static_cast<std::size_t>(layer)].parallel;
      return shape_if(has_mlp && !parallel && !weights.block, {width});
    }
    case mixer_out: return shape_if(weights.mixer != nullptr, {width});
    case resid_mid_cross:
    case cross_q:
    case cross_k:
    case cross_v:
    case cross_attn_scores:
    case cross_pattern:
    case cross_z:
    case cross_result:
    case cross_attn_out:
      return weights.cross ? cross_shape(*weights.cross, point, width) : std::nullopt;
    case mlp_pre:
    case mlp_pre_linear:
    case mlp_post:
    case router_logits:
    case expert_index:
    case expert_weight:
    case expert_out:
    case shared_expert_out:
    case mlp_out: return mlp_shape(spec, weights, point, layer);
    default: return attention_shape(spec, weights, point, layer);
  }
}

}  // namespace attnscope
