// Self-attention of one layer, from its queries, keys and values to its head outputs.
#include <algorithm>
#include <cmath>

#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/forward/patch_embedding.h"
#include "attnscope/model/rope.h"

namespace attnscope {
namespace {

/// Returns the part of a norm with per-head gains that belongs to one head.
NormWeights part_of(const NormWeights& norm, std::int64_t head, std::int64_t size) {
  const auto part = [&](const std::vector<float>& all) {
    if (all.empty()) return all;
    return std::vector<float>(all.begin() + head * size, all.begin() + (head + 1) * size);
  };
  return {.spec = norm.spec, .gain = part(norm.gain), .bias = part(norm.bias)};
}

void scale_queries_by_position(const TemperatureSpec& temperature, std::int64_t first,
                               MatrixView<float> queries) {
  for (std::int64_t row = 0; row < queries.rows; ++row) {
    const std::int64_t position = first + row + temperature.first;
    const auto periods = static_cast<float>(position / temperature.period);
    const float factor = 1 + static_cast<float>(temperature.growth) * std::log(1 + periods);
    for (std::int64_t col = 0; col < queries.cols; ++col) queries(row, col) *= factor;
  }
}

/// Sets the windows of the maps. Their padding follows their patches.
void leave_out_padding(const std::vector<PatchWindow>& windows, LayerMaps& shown) {
  shown.windows = windows;
  for (std::size_t at = 0; at < shown.maps.size(); ++at) {
    const std::size_t sequence = at / static_cast<std::size_t>(shown.heads);
    const std::int64_t count = windows[sequence % windows.size()].count();
    shown.maps[at] = shown.maps[at].block(0, count, 0, count);
  }
}

}  // namespace

AttentionMask mask_of(const MaskSpec& spec) {
  const std::int64_t reach = spec.reach.value_or(AttentionMask::kAll);
  return {.keys_before = reach,
          .keys_after = spec.causal ? 0 : reach,
          .chunk = spec.chunk.value_or(AttentionMask::kAll)};
}

LayerRun::Positions LayerRun::rotary_tables(const AttentionSpec& spec) {
  if (!spec.patch_rotation || !rows_.grid) return rotary_tables(spec.rope);
  if (!patch_table_) {
    patch_table_ = patch_rotary_table(*spec.patch_rotation, heads_.head_dim, *rows_.grid);
  }
  return Positions(rows_.first.size(), &*patch_table_);
}

LayerRun::Positions LayerRun::rotary_tables(const std::optional<Rope>& rope) {
  if (!rope) return {};
  Positions out;
  for (std::size_t sequence = 0; sequence < rows_.first.size(); ++sequence) {
    const std::int64_t first = rows_.first_position(sequence), tokens = rows_.tokens(sequence);
    const auto known = std::find_if(tables_.begin(), tables_.end(), [&](const KnownTable& table) {
      return table.first == first && table.tokens == tokens && table.rope == *rope &&
             table.head_dim == heads_.head_dim;
    });
    if (known != tables_.end()) {
      out.push_back(&known->table);
      continue;
    }
    const RopeFrequencies frequencies =
        rope_frequencies(*rope, heads_.head_dim, tokens, spec_.source);
    tables_.push_back(
        {*rope, heads_.head_dim, first, tokens,
         make_rotary_table(frequencies.radians_per_token, static_cast<float>(frequencies.gain),
                           rope->pairs, first, rows_.length[sequence])});
    out.push_back(&tables_.back().table);
  }
  return out;
}

/// Selects the keys of the layer. Requires the query latents.
void LayerRun::select_keys(std::int64_t layer, MatrixView<const float> input) {
  const AttentionSpec& spec = spec_.layers[static_cast<std::size_t>(layer)].attention;
  if (!spec.indexer) return;
  std::optional<Rope> rope = spec.rope;
  if (rope) rope->pairs = spec.indexer->pairs;
  selection_.enter(layer, input, mla_.of_queries(), rotary_tables(rope));
}

std::unique_ptr<LayerRun::Scratch> LayerRun::take_scratch() {
  const std::lock_guard lock(scratch_mutex_);
  if (scratch_.empty()) return std::make_unique<Scratch>();
  std::unique_ptr<Scratch> taken = std::move(scratch_.back());
  scratch_.pop_back();
  return taken;
}

void LayerRun::give_back(std::unique_ptr<Scratch> scratch) {
  const std::lock_guard lock(scratch_mutex_);
  scratch_.push_back(std::move(scratch));
}

void LayerRun::add_value_embedding(const ValueEmbedding& embedding, MatrixView<float> values) {
  std::vector<float> added(static_cast<std::size_t>(values.cols));
  std::int64_t row = 0;
  for (const TokenIds& ids : sequences_) {
    for (const std::int64_t id : ids) {
      if (embedding.table.tensor != nullptr) embedding.table.read(id, added);
      for (std::int64_t col = 0; col < values.cols; ++col) {
        values(row, col) = embedding.of_value * values(row, col) +
                           embedding.of_table * added[static_cast<std::size_t>(col)];
      }
      ++row;
    }
  }
}

/// Returns the rows of a sequence in a matrix of all sequences.
MatrixView<float> LayerRun::rows_of(std::size_t sequence, MatrixView<float> all) const {
  return all.row_block(rows_.first[sequence], rows_.length[sequence]);
}

MatrixView<float> LayerRun::query_of(std::size_t sequence, std::int64_t head) {
  return rows_of(sequence, qkv_.view().col_block(head * heads_.head_dim, heads_.head_dim));
}

/// Returns the keys and values of the current layer, or those it shares from an earlier one: (rows,
/// G d + G d_v).
MatrixView<float> LayerRun::keys_and_values(std::int64_t layer) {
  if (const auto from = spec_.sharing_of(layer).from) return kept_.at(*from).view();
  const std::int64_t queries = heads_.total_dim(Role::query);
  return qkv_.view().col_block(queries, qkv_.cols() - queries);
}

/// Returns the keys or values of one head for a sequence.
MatrixView<float> LayerRun::head_of(Role role, std::int64_t layer, std::size_t sequence,
                                    std::int64_t head) {
  const bool value = role == Role::value;
  const std::int64_t first = value ? heads_.total_dim(Role::key) : 0;
  const std::int64_t columns = value ? heads_.value_dim : heads_.head_dim;
  return rows_of(sequence, keys_and_values(layer).col_block(first + head * columns, columns));
}

void LayerRun::clip(std::int64_t layer, MatrixView<float> head) const {
  const auto& limit = spec_.layers[static_cast<std::size_t>(layer)].attention.clip;
  if (!limit) return;
  const auto most = static_cast<float>(*limit);
  for (std::int64_t row = 0; row < head.rows; ++row) {
    for (std::int64_t col = 0; col < head.cols; ++col) {
      float& value = head(row, col);
      if (value > most) value = most;  // NaN stays NaN
      if (value < -most) value = -most;
    }
  }
}

/// Applies norm and clipping to one head of queries or keys.
void LayerRun::norm_head(std::int64_t layer, const OptionalNorm& norm, std::int64_t head,
                         MatrixView<float> values, const Compute& alone) const {
  const AttentionSpec& spec = spec_.layers[static_cast<std::size_t>(layer)].attention;
  if (norm && spec.norm_axis == HeadNormAxis::head) apply_norm(*norm, values, values, alone);
  if (norm && spec.norm_axis == HeadNormAxis::each_head) {
    apply_norm(part_of(*norm, head, values.cols), values, values, alone);
  }
  clip(layer, values);
}

/// Rotates one head of queries or keys. `table`: rotary table of its rows, or null.
void LayerRun::rotate_head(std::int64_t layer, const RotaryTable* table, MatrixView<float> values,
                           const Compute& alone) const {
  if (table == nullptr) return;
  const AttentionSpec& spec = spec_.layers[static_cast<std::size_t>(layer)].attention;
  const bool last = spec.rope && spec.rope->last;
  const std::int64_t rotary = last ? 2 * table->cos.cols() : values.cols;
  rotate(values.col_block(values.cols - rotary, rotary), *table, Rotation::forward, alone);
}

/// Applies norm, clipping and rotation to one head of queries or keys.
void LayerRun::finish_head(std::int64_t layer, const OptionalNorm& norm, std::int64_t head,
                           const RotaryTable* table, MatrixView<float> values,
                           const Compute& alone) const {
  const AttentionSpec& spec = spec_.layers[static_cast<std::size_t>(layer)].attention;
  if (spec.norms_after_rotation) rotate_head(layer, table, values, alone);
  norm_head(layer, norm, head, values, alone);
  if (!spec.norms_after_rotation) rotate_head(layer, table, values, alone);
}

/// Applies query and key norms that span all heads.
void LayerRun::norm_all_heads(std::int64_t layer) {
  const LayerWeights& weights = weights_.layers[static_cast<std::size_t>(layer)];
  const AttentionSpec& spec = spec_.layers[static_cast<std::size_t>(layer)].attention;
  if (spec.norm_axis != HeadNormAxis::all_heads) return;
  const std::int64_t queries = heads_.total_dim(Role::query);
  const MatrixView<float> query = qkv_.view().col_block(0, queries);
  if (weights.query_norm) apply_norm(*weights.query_norm, query, query, compute_);
  if (!weights.key_norm) return;
  const MatrixView<float> key = qkv_.view().col_block(queries, heads_.total_dim(Role::key));
  apply_norm(*weights.key_norm, key, key, compute_);
}

/// Applies norms and rotation to every key and value head in qkv_, and copies them to the caches.
/// Heads shared from an earlier layer are already finished.
void LayerRun::finish_keys_and_values(std::int64_t layer, const Positions& tables) {
  if (spec_.sharing_of(layer).from) return;
  const LayerWeights& weights = weights_.layers[static_cast<std::size_t>(layer)];
  const HeadShape& heads = heads_;
  const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};  // single-threaded
  const auto for_heads = [&](const auto& visit) {
    const auto kv_heads = static_cast<std::size_t>(heads.kv_heads);
    run_parts(compute_, rows_.first.size() * kv_heads, [&](std::size_t part) {
      visit(part / kv_heads, static_cast<std::int64_t>(part % kv_heads));
    });
  };
  const bool finished = finish_in_steps(layer, Role::key, tables);
  for_heads([&](std::size_t sequence, std::int64_t head) {
    if (!finished)
      finish_head(layer, weights.key_norm, head, tables.empty() ? nullptr : tables[sequence],
                  head_of(Role::key, layer, sequence, head), alone);
    const MatrixView<float> value = head_of(Role::value, layer, sequence, head);
    if (weights.value_norm) apply_norm(*weights.value_norm, value, value, alone);
    clip(layer, value);
  });
  if (weights.value_embedding) {
    const std::int64_t columns = heads.total_dim(Role::value);
    add_value_embedding(*weights.value_embedding,
                        qkv_.view().col_block(qkv_.cols() - columns, columns));
  }
  if (caches_.empty()) {
    const auto kept = kept_.find(layer);
    if (kept != kept_.end()) kept->second = copied(keys_and_values(layer));
    return;
  }
  for_heads([&](std::size_t sequence, std::int64_t head) {
    caches_[sequence]
        .head(layer, head)
        .put(rows_.first_position(sequence), head_of(Role::key, layer, sequence, head),
             head_of(Role::value, layer, sequence, head), compute_.kernels);
  });
}

/// Allocates maps for every head of every sequence. `keys`: number of keys per sequence.
LayerMaps LayerRun::make_room_for_maps(std::int64_t layer, const std::vector<std::int64_t>& keys) {
  const auto heads = static_cast<std::size_t>(heads_.heads);
  LayerMaps shown{.layer = layer, .heads = heads_.heads, .maps = {}};
  maps_.resize(keys.size() * heads);
  for (std::size_t part = 0; part < maps_.size(); ++part) {
    const std::size_t sequence = part / heads;
    shown.maps.push_back(sized(maps_[part], rows_.length[sequence], keys[sequence]));
  }
  return shown;
}

/// Computes context_ from qkv_: norms, rotation and attention of every head of every sequence.
/// `input`: that of the attention.
void LayerRun::attend_all(std::int64_t layer, MatrixView<const float> input) {
  const LayerWeights& weights = weights_.layers[static_cast<std::size_t>(layer)];
  const AttentionSpec& spec = spec_.layers[static_cast<std::size_t>(layer)].attention;
  const HeadShape& heads = heads_;
  const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};  // single-threaded
  const Positions tables = rotary_tables(spec);
  norm_all_heads(layer);
  biases_.enter(layer, input);
  // All key and value heads must be finished before a query head reads them.
  finish_keys_and_values(layer, tables);
  if (observer_.on_values) {
    const std::int64_t keys = heads.total_dim(Role::key), columns = heads.total_dim(Role::value);
    observer_.on_values(layer, keys_and_values(layer).col_block(keys, columns));
  }

  const bool in_steps =
      hooks_.wants(HookPoint::attn_scores, layer) || hooks_.changes(HookPoint::pattern, layer);
  const bool observed = observer_.sees_maps(layer);
  const bool with_maps = observed || in_steps || hooks_.wants(HookPoint::pattern, layer);
  const bool finished = finish_in_steps(layer, Role::query, tables);
  const std::int64_t source = spec_.sharing_of(layer).from.value_or(layer);  // owner of the keys
  const auto query_heads = static_cast<std::size_t>(heads.heads);
  const std::size_t parts = rows_.first.size() * query_heads;
  LayerMaps shown;
  if (with_maps) {
    std::vector<std::int64_t> keys;
    for (std::size_t sequence = 0; sequence < rows_.first.size(); ++sequence) {
      keys.push_back(rows_.tokens(sequence));
    }
    shown = make_room_for_maps(layer, keys);
    shown.grid = rows_.grid;
    if (rows_.windows != nullptr) leave_out_padding(*rows_.windows, shown);
  }
  const AttentionRule rule{.scale = static_cast<float>(spec.scale),
                           .soft_cap = static_cast<float>(spec.soft_cap.value_or(0)),
                           .mask = mask_of(spec.mask)};
  const MatrixView<float> context = sized(context_, rows_.total, heads.heads * heads.value_dim);
  run_parts(compute_, parts, [&](std::size_t part) {
    const std::size_t sequence = part / query_heads;
    const auto head = static_cast<std::int64_t>(part % query_heads);
    const std::int64_t kv_head = heads.kv_head(head);
    const MatrixView<float> query = query_of(sequence, head);
    if (!finished) {
      finish_head(layer, weights.query_norm, head, tables.empty() ? nullptr : tables[sequence],
                  query, alone);
    }
    if (spec.temperature)
      scale_queries_by_position(*spec.temperature, rows_.first_position(sequence), query);
    const MatrixView<float> map = with_maps ? maps_[part].view() : MatrixView<float>{};
    const MatrixView<float> out =
        rows_of(sequence, context.col_block(head * heads.value_dim, heads.value_dim));
    std::unique_ptr<Scratch> scratch = take_scratch();
    AttentionRule own = rule;
    const bool kept_elsewhere = source != layer && !caches_.empty();
    const MatrixView<float> keys =
        kept_elsewhere ? MatrixView<float>{} : head_of(Role::key, layer, sequence, kv_head);
    own.bias = spec.indexer ? selection_.of(sequence)
                            : biases_.of(sequence, head, query, keys, scratch->bias);
    if (!weights.cosine_scales.empty()) {
      own.scale *= weights.cosine_scales[static_cast<std::size_t>(head)];
    }
    if (!weights.sinks.empty()) own.sink = weights.sinks[static_cast<std::size_t>(head)];
    if (in_steps) {
      const Matrix<float> unpacked =
          caches_.empty()
              ? Matrix<float>()
              : caches_[sequence]
                    .head(source, kv_head)
                    .unpacked_keys(rows_.tokens(sequence), heads.head_dim, compute_.kernels);
      attention_scores(query, rows_.first_position(sequence),
                       caches_.empty() ? MatrixView<const float>(keys) : unpacked.view(), own, map,
                       alone);
    } else if (caches_.empty()) {
      attend(query, keys, head_of(Role::value, layer, sequence, kv_head), own, map, out,
             scratch->attention, alone);
    } else {
      attend(query, caches_[sequence].head(source, kv_head), rows_.tokens(sequence), own, map, out,
             scratch->attention.scores, alone);
    }
    give_back(std::move(scratch));
  });
  if (in_steps) {
    attend_to_scores(layer, shown, HookPoint::attn_scores, HookPoint::pattern, weights.sinks,
                     [&](std::size_t sequence, std::int64_t kv_head) {
                       if (caches_.empty()) {
                         return copied(head_of(Role::value, layer, sequence, kv_head));
                       }
                       return caches_[sequence]
                           .head(source, kv_head)
                           .unpacked_values(rows_.tokens(sequence), heads.value_dim,
                                            compute_.kernels);
                     });
  } else if (with_maps) {
    show_maps(HookPoint::pattern, layer, shown);
  }
  check_states(weights_, context, "the attention of layer " + std::to_string(layer));
  if (observed) observer_.on_maps(shown);
}

}  // namespace attnscope
