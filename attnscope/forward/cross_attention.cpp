// A decoder's attention to what its encoder gives.
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"

namespace attnscope {

/// Of the layer under way, from queries in qkv_ to context_. `made`: the keys and values that the
/// layer makes of the memory, (rows, G d + G d_v); no data where the caches have them.
void LayerRun::attend_across_all(std::int64_t number, MatrixView<const float> made) {
  const CrossWeights& weights = *weights_.layers[static_cast<std::size_t>(number)].cross;
  const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};  // of one part
  const std::size_t sequences = rows_.first.size();
  std::vector<std::int64_t> first, keys;  // of each sequence
  std::int64_t rows = 0;
  for (std::size_t at = 0; at < sequences; ++at) {
    const std::size_t source = memory_ == nullptr ? at : at % memory_->lengths.size();
    if (source == 0) rows = 0;
    first.push_back(rows);
    keys.push_back(memory_ == nullptr ? caches_[at].memory() : memory_->lengths[source]);
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
      put(part / kv_heads, head, caches_[part / kv_heads].cross_head(number, head));
    });
  }

  const bool with_maps = observer_.on_cross_maps &&
                         (!observer_.wants_cross_maps || observer_.wants_cross_maps(number));
  LayerMaps shown;
  if (with_maps) shown = make_room_for_maps(number, keys);
  const MatrixView<float> context = sized(context_, rows_.total, heads_.heads * heads_.value_dim);
  const auto query_heads = static_cast<std::size_t>(heads_.heads);
  run_parts(compute_, sequences * query_heads, [&](std::size_t part) {
    const std::size_t sequence = part / query_heads;
    const auto head = static_cast<std::int64_t>(part % query_heads);
    const std::int64_t kv_head = heads_.kv_head(head);
    std::unique_ptr<Scratch> scratch = take_scratch();
    KeysAndValues& own = caches_.empty() ? scratch->attention.keys_and_values
                                         : caches_[sequence].cross_head(number, kv_head);
    if (caches_.empty()) put(sequence, kv_head, own);
    attend_across(query_of(sequence, head), rows_.first_position(sequence), own, keys[sequence],
                  {.scale = weights.scale}, with_maps ? maps_[part].view() : MatrixView<float>{},
                  rows_of(sequence, context.col_block(head * heads_.value_dim, heads_.value_dim)),
                  scratch->attention.scores, alone);
    give_back(std::move(scratch));
  });
  check_states(weights_, context, "the cross attention of layer " + std::to_string(number));
  if (with_maps) observer_.on_cross_maps(shown);
}

/// From the stream to what the heads of the layer find in the memory, in context_.
void LayerRun::find_across(std::int64_t number) {
  const CrossWeights& weights = *weights_.layers[static_cast<std::size_t>(number)].cross;
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
  MatrixView<float> made;
  if (memory_ != nullptr) {
    made = sized(made_across_, memory_->states.rows(), weights.keys_and_values->weights.outputs());
    apply(*weights.keys_and_values, memory_->states.view(), {}, made, compute_);
  }
  attend_across_all(number, made);
}

/// Adds to the stream what the layer finds in the memory, unless only maps are wanted.
void LayerRun::look_across(std::int64_t number, bool maps_only, MatrixView<const float> given) {
  const CrossWeights& weights = *weights_.layers[static_cast<std::size_t>(number)].cross;
  const MatrixView<float> stream = states_.view();
  if (given.data == nullptr) {
    find_across(number);
  } else {
    copy_into(sized(context_, given.rows, given.cols), given);
  }
  if (maps_only) return;
  if (observer_.on_cross_heads) observer_.on_cross_heads(number, context_.view());
  apply(*weights.output, context_.view(), {.add = stream}, stream, compute_);
  if (weights.sum) apply_norm(*weights.sum, stream, stream, compute_);
}

}  // namespace attnscope
