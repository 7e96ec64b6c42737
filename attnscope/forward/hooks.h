// Hook points: named activations of a forward pass, which hooks read or change. Names as in
// TransformerLens. Definitions: docs/metrics.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "attnscope/base/matrix_view.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// In the order of kHookNames in hooks.cpp.
enum class HookPoint {
  resid_pre,
  resid_mid,
  resid_mid_cross,
  resid_post,
  q,
  k,
  v,
  q_normed,
  k_normed,
  rot_q,
  rot_k,
  attn_scores,
  pattern,
  z_before_gate,
  z,
  result,
  attn_out,
  cross_q,
  cross_k,
  cross_v,
  cross_attn_scores,
  cross_pattern,
  cross_z,
  cross_result,
  cross_attn_out,
  mixer_out,
  mlp_pre,
  mlp_pre_linear,
  mlp_post,
  router_logits,
  expert_index,
  expert_weight,
  expert_out,
  shared_expert_out,
  mlp_out,
  final_norm,
  logits,
};

/// Names of all hook points, in their order.
std::span<const std::string_view> hook_names();
std::string_view hook_name(HookPoint point);
std::optional<HookPoint> hook_from_name(std::string_view name);

/// Whether the activation belongs to no layer: final_norm, logits.
bool is_of_model(HookPoint point);
/// Whether the activation has one map (queries, keys) per head.
bool is_map(HookPoint point);

/// Shape of an activation of one layer, without the axis of positions.
struct HookShape {
  Shape axes;              // (H, d), (D), …; of a map: (H)
  bool has_heads = false;  // whether the first axis is that of heads
  bool of_source = false;  // positions are those of the encoder output
  std::int64_t columns() const;
};

/// Returns the shape of an activation in one layer, or nothing if the layer does not have it. The
/// layer of an activation without layers is ignored.
std::optional<HookShape> hook_shape(const ForwardPass& pass, HookPoint point, std::int64_t layer);

/// Activations of one hook point in one layer, for all sequences.
struct HookedValues {
  HookPoint point;
  std::int64_t layer = 0;
  const SequenceRows* rows = nullptr;  // null: positions of the encoder output
  /// (rows, columns of the shape). May be modified; later results follow from it. Columns are
  /// contiguous. No data for maps and for expert_index.
  MatrixView<float> values = {};
  /// Maps, all heads of sequence 0, then of 1, …
  std::span<const MatrixView<float>> maps = {};
  std::span<const std::int64_t> indices = {};  // of expert_index: (rows, top_k)
};

/// Hooks of a pass. Called on the thread that runs the pass.
class ForwardHooks {
 public:
  ForwardHooks() = default;
  ForwardHooks(const ForwardHooks&) = delete;
  ForwardHooks& operator=(const ForwardHooks&) = delete;
  virtual ~ForwardHooks() = default;

  /// Whether visit() is called for this hook point. Other points cost nothing.
  virtual bool wants(HookPoint point, std::int64_t layer) const = 0;
  /// Whether visit() may change the values. Attention is faster if it does not change the maps.
  virtual bool changes(HookPoint point, std::int64_t layer) const = 0;
  virtual void visit(const HookedValues& values) = 0;
};

/// Calls the hooks of a pass, if there are any.
struct HookCalls {
  ForwardHooks* hooks = nullptr;
  const SequenceRows* rows = nullptr;

  bool wants(HookPoint point, std::int64_t layer) const {
    return hooks != nullptr && hooks->wants(point, layer);
  }
  bool changes(HookPoint point, std::int64_t layer) const {
    return wants(point, layer) && hooks->changes(point, layer);
  }
  void show(HookPoint point, std::int64_t layer, MatrixView<float> values) const {
    if (wants(point, layer)) hooks->visit({point, layer, rows, values});
  }
};

}  // namespace attnscope
