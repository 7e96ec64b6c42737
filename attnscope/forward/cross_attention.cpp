// Cross-attention of a decoder to the encoder output.
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"

namespace attnscope {

/// Computes the attention of the current layer, from the queries in qkv_ to context_. `made`: the
/// layer's keys and values of the encoder output, (rows, G d + G d_v). No data if the caches have
/// them.
void LayerRun::attend_cross_heads(std::int64_t layer, MatrixView<const float> made) {
  const CrossWeights& weights = *weights_.layers[static_cast<std::size_t>(layer)].cross;
  const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};  // single-threaded
  const std::size_t sequences = rows_.first.size();
  std::vector<std::int64_t> first, keys;  // per sequence
  std::int64_t rows = 0;
  for (std::size_t at = 0; at < sequences; ++at) {
    const std::size_t source =
        encoder_output_ == nullptr ? at : at % encoder_output_->lengths.size();
    if (source == 0) rows = 0;
    first.push_back(rows);
    keys.push_back(encoder_output_ == nullptr ? caches_[at].encoder_length()
                                              : encoder_output_->lengths[source]);
    rows += keys.back();
  }
  const auto put = [&](std::size_t sequence, std::int64_t head, KeysAndValues& to) {
    const MatrixView<const float> own = made.row_block(first[sequence], keys[sequence]);
    to.reserve(keys[sequence], heads_.head_dim, heads_.value_dim);
    to.put(0, own.col_block(head * heads_.head_dim, heads_.head_dim),
           own.col_block(heads_.total_dim(Role::key) + head * heads_.value_dim, heads_.value_dim),
           compute_.kernels);
  };
  if (made.data != nullptr && !caches_.empty()) {
    const auto kv_heads = static_cast<std::size_t>(heads_.kv_heads);
    run_parts(compute_, sequences * kv_heads, [&](std::size_t part) {
      const auto head = static_cast<std::int64_t>(part % kv_heads);
      put(part / kv_heads, head, caches_[part / kv_heads].cross_head(layer, head));
    });
  }

  const bool in_steps = hooks_.wants(HookPoint::cross_attn_scores, layer) ||
                        hooks_.changes(HookPoint::cross_pattern, layer);
  const bool observed =
      observer_.on_cross_maps && (!observer_.wants_cross_maps || observer_.wants_cross_maps(layer));
  const bool with_maps = observed || in_steps || hooks_.wants(HookPoint::cross_pattern, layer);
  LayerMaps shown;
  if (with_maps) shown = make_room_for_maps(layer, keys);
  const MatrixView<float> context = sized(context_, rows_.total, heads_.heads * heads_.value_dim);
  const auto query_heads = static_cast<std::size_t>(heads_.heads);
  run_parts(compute_, sequences * query_heads, [&](std::size_t part) {
    const std::size_t sequence = part / query_heads;
    const auto head = static_cast<std::int64_t>(part % query_heads);
    const std::int64_t kv_head = heads_.kv_head(head);
    std::unique_ptr<Scratch> scratch = take_scratch();
    KeysAndValues& own = caches_.empty() ? scratch->attention.keys_and_values
                                         : caches_[sequence].cross_head(layer, kv_head);
    if (caches_.empty()) put(sequence, kv_head, own);
    if (in_steps) {
      const Matrix<float> unpacked =
          own.unpacked_keys(keys[sequence], heads_.head_dim, compute_.kernels);
      attention_scores(query_of(sequence, head), rows_.first_position(sequence), unpacked.view(),
                       {.scale = weights.scale, .mask = AttentionMask::bidirectional()},
                       maps_[part].view(), alone);
      return give_back(std::move(scratch));
    }
    attend_across(query_of(sequence, head), rows_.first_position(sequence), own, keys[sequence],
                  {.scale = weights.scale}, with_maps ? maps_[part].view() : MatrixView<float>{},
                  rows_of(sequence, context.col_block(head * heads_.value_dim, heads_.value_dim)),
                  scratch->attention.scores, alone);
    give_back(std::move(scratch));
  });
  if (in_steps) {
    attend_to_scores(
        layer, shown, HookPoint::cross_attn_scores, HookPoint::cross_pattern, {},
        [&](std::size_t sequence, std::int64_t kv_head) {
          if (caches_.empty()) {
            return copied(made.row_block(first[sequence], keys[sequence])
                              .col_block(heads_.total_dim(Role::key) + kv_head * heads_.value_dim,
                                         heads_.value_dim));
          }
          return caches_[sequence]
              .cross_head(layer, kv_head)
              .unpacked_values(keys[sequence], heads_.value_dim, compute_.kernels);
        });
  } else if (with_maps) {
    show_maps(HookPoint::cross_pattern, layer, shown);
  }
  check_states(weights_, context, "the cross-attention of layer " + std::to_string(layer));
  if (observed) observer_.on_cross_maps(shown);
}

/// Computes the head outputs of the layer's cross-attention from the residual stream, in context_.
void LayerRun::make_cross_attention(std::int64_t layer) {
  const CrossWeights& weights = *weights_.layers[static_cast<std::size_t>(layer)].cross;
  const MatrixView<float> stream = states_.view();
  MatrixView<const float> input = stream;
  if (weights.input) {
    const MatrixView<float> normed = sized(normed_, stream.rows, stream.cols);
    apply_norm(*weights.input, stream, normed, compute_);
    input = normed;
  }
  heads_ = weights.heads;
  apply(*weights.query, input, {}, sized(qkv_, rows_.total, heads_.total_dim(Role::query)),
        compute_);
  hooks_.show(HookPoint::cross_q, layer, qkv_.view());
  MatrixView<float> made;
  if (encoder_output_ != nullptr) {
    made = sized(cross_keys_and_values_, encoder_output_->states.rows(),
                 weights.keys_and_values->weights.outputs());
    apply(*weights.keys_and_values, encoder_output_->states.view(), {}, made, compute_);
    const HookCalls of_source{.hooks = hooks_.hooks, .rows = nullptr};
    const std::int64_t keys_width = heads_.total_dim(Role::key);
    of_source.show(HookPoint::cross_k, layer, made.col_block(0, keys_width));
    of_source.show(HookPoint::cross_v, layer, made.col_block(keys_width, made.cols - keys_width));
  }
  attend_cross_heads(layer, made);
}

/// Adds the output of the cross-attention to the residual stream, unless only maps are requested.
void LayerRun::add_cross_attention(std::int64_t layer, bool maps_only,
                                   MatrixView<const float> given) {
  const CrossWeights& weights = *weights_.layers[static_cast<std::size_t>(layer)].cross;
  const MatrixView<float> stream = states_.view();
  if (given.data == nullptr) {
    make_cross_attention(layer);
  } else {
    copy_into(sized(context_, given.rows, given.cols), given);
  }
  if (maps_only) return;
  if (observer_.on_cross_heads && observer_.sees_parts_of(layer)) {
    observer_.on_cross_heads(layer, context_.view());
  }
  hooks_.show(HookPoint::cross_z, layer, context_.view());
  show_results(HookPoint::cross_result, layer, *weights.output, context_.view());
  if (hooks_.wants(HookPoint::cross_attn_out, layer) || result_change_.rows() > 0) {
    const MatrixView<float> change = sized(change_, stream.rows, stream.cols);
    apply(*weights.output, context_.view(), {.add = result_change_.view()}, change, compute_);
    add_change(HookPoint::cross_attn_out, layer, 1);
  } else {
    apply(*weights.output, context_.view(), {.add = stream}, stream, compute_);
  }
  if (weights.sum) apply_norm(*weights.sum, stream, stream, compute_);
  hooks_.show(HookPoint::resid_mid_cross, layer, stream);
}

}  // namespace attnscope
