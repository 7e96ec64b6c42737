// Steps of attention that hooks see: projections, finished heads, scores, weights and head outputs.
#include <algorithm>

#include "attnscope/forward/hooks.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"

namespace attnscope {

void LayerRun::show_projections(std::int64_t layer) {
  const std::int64_t queries = heads_.total_dim(Role::query);
  hooks_.show(HookPoint::q, layer, qkv_.view().col_block(0, queries));
  if (spec_.sharing_of(layer).from) return;
  const std::int64_t keys = heads_.total_dim(Role::key);
  hooks_.show(HookPoint::k, layer, qkv_.view().col_block(queries, keys));
  hooks_.show(HookPoint::v, layer,
              qkv_.view().col_block(queries + keys, heads_.total_dim(Role::value)));
}

bool LayerRun::finish_in_steps(std::int64_t layer, Role role, const Positions& tables) {
  const bool of_keys = role == Role::key;
  const HookPoint normed = of_keys ? HookPoint::k_normed : HookPoint::q_normed;
  const HookPoint rotated = of_keys ? HookPoint::rot_k : HookPoint::rot_q;
  if (!hooks_.wants(normed, layer) && !hooks_.wants(rotated, layer)) return false;

  const LayerWeights& weights = weights_.layers[static_cast<std::size_t>(layer)];
  const OptionalNorm& norm = of_keys ? weights.key_norm : weights.query_norm;
  const auto heads = static_cast<std::size_t>(of_keys ? heads_.kv_heads : heads_.heads);
  const MatrixView<float> all =
      of_keys ? qkv_.view().col_block(heads_.total_dim(Role::query), heads_.total_dim(Role::key))
              : qkv_.view().col_block(0, heads_.total_dim(Role::query));
  const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};  // single-threaded
  const auto step = [&](bool rotates) {
    run_parts(compute_, rows_.first.size() * heads, [&](std::size_t part) {
      const std::size_t sequence = part / heads;
      const auto head = static_cast<std::int64_t>(part % heads);
      const MatrixView<float> own =
          rows_of(sequence, all.col_block(head * heads_.head_dim, heads_.head_dim));
      if (rotates) {
        rotate_head(layer, tables.empty() ? nullptr : tables[sequence], own, alone);
      } else {
        norm_head(layer, norm, head, own, alone);
      }
    });
    if (rotates ? !tables.empty() : norm.has_value()) {
      hooks_.show(rotates ? rotated : normed, layer, all);
    }
  };
  const bool rotates_first =
      spec_.layers[static_cast<std::size_t>(layer)].attention.norms_after_rotation;
  step(rotates_first);
  step(!rotates_first);
  return true;
}

void LayerRun::show_maps(HookPoint point, std::int64_t layer, const LayerMaps& maps) {
  if (!hooks_.wants(point, layer)) return;
  std::vector<MatrixView<float>> views;
  for (std::size_t at = 0; at < maps.maps.size(); ++at) views.push_back(maps_[at].view());
  hooks_.hooks->visit({.point = point, .layer = layer, .rows = &rows_, .maps = views});
}

void LayerRun::attend_to_scores(std::int64_t layer, const LayerMaps& maps, HookPoint scores,
                                HookPoint weights, std::span<const float> sinks,
                                const ValuesOf& values_of) {
  show_maps(scores, layer, maps);
  const auto heads = static_cast<std::size_t>(heads_.heads);
  run_parts(compute_, maps.maps.size(), [&](std::size_t part) {
    attention_weights(maps_[part].view(),
                      sinks.empty() ? std::nullopt : std::optional(sinks[part % heads]));
  });
  show_maps(weights, layer, maps);
  run_parts(compute_, maps.maps.size(), [&](std::size_t part) {
    const auto head = static_cast<std::int64_t>(part % heads);
    const Matrix<float> values = values_of(part / heads, heads_.kv_head(head));
    const MatrixView<float> out =
        rows_of(part / heads, context_.view().col_block(head * heads_.value_dim, heads_.value_dim));
    weighted_values(maps_[part].view(), values.view(), out);
  });
}

void LayerRun::show_results(HookPoint point, std::int64_t layer, const LinearLayer& output,
                            MatrixView<const float> read) {
  if (result_change_.rows() > 0) result_change_ = {};
  if (!hooks_.wants(point, layer)) return;
  const std::int64_t width = output.weights.outputs(), heads = heads_.heads;
  const std::int64_t columns = heads_.value_dim;
  Matrix<float> results(read.rows, heads * width), alone(read.rows, read.cols);
  std::fill_n(alone.data(), alone.rows() * alone.cols(), 0.0F);
  for (std::int64_t head = 0; head < heads; ++head) {
    const MatrixView<float> own = alone.view().col_block(head * columns, columns);
    copy_into(own, read.col_block(head * columns, columns));
    apply_linear(alone.view(), output.weights, {}, results.view().col_block(head * width, width),
                 compute_);
    for (std::int64_t row = 0; row < own.rows; ++row) std::fill_n(&own(row, 0), columns, 0.0F);
  }
  const bool changes = hooks_.changes(point, layer);
  const Matrix<float> before = changes ? copied(results.view()) : Matrix<float>();
  hooks_.show(point, layer, results.view());
  if (!changes) return;
  result_change_ = Matrix<float>(read.rows, width);
  for (std::int64_t row = 0; row < read.rows; ++row) {
    for (std::int64_t col = 0; col < width; ++col) {
      float sum = 0;
      for (std::int64_t head = 0; head < heads; ++head) {
        sum += results(row, head * width + col) - before(row, head * width + col);
      }
      result_change_(row, col) = sum;
    }
  }
}

}  // namespace attnscope
