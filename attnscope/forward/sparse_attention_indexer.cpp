#include "attnscope/forward/sparse_attention_indexer.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/numerics/vector_loops.h"

namespace attnscope {
namespace {

/// Maximum number of scores of one block: queries × keys × heads of the indexer.
constexpr std::int64_t kScoresAtOnce = 1 << 20;

/// Returns the indexer of the model. Its layers differ only in whether they share its selection.
const IndexerSpec* indexer_of(const ModelSpec& spec) {
  for (const LayerSpec& layer : spec.layers) {
    if (layer.attention.indexer) return &*layer.attention.indexer;
  }
  return nullptr;
}

/// Writes 0 for the `kept` largest of scores[first … end).
void see_best(const std::vector<float>& scores, std::int64_t first, std::int64_t end,
              std::int64_t kept, float* seen) {
  if (end - first <= kept) {
    std::fill(seen + first, seen + end, 0.0F);
    return;
  }
  std::vector<std::int64_t> keys(static_cast<std::size_t>(end - first));
  std::iota(keys.begin(), keys.end(), first);
  std::nth_element(keys.begin(), keys.begin() + kept, keys.end(),
                   [&](std::int64_t a, std::int64_t b) {
                     const float of_a = scores[static_cast<std::size_t>(a)];
                     const float of_b = scores[static_cast<std::size_t>(b)];
                     return of_a != of_b ? of_a > of_b : a < b;
                   });
  for (std::int64_t at = 0; at < kept; ++at) seen[keys[static_cast<std::size_t>(at)]] = 0;
}

}  // namespace

KeySelection::KeySelection(const ModelSpec& spec, const ForwardWeights& weights,
                           const SequenceRows& rows, const Compute& compute,
                           std::span<KeyValueCache> caches)
    : spec_(spec),
      weights_(weights),
      rows_(rows),
      compute_(compute),
      caches_(caches),
      seen_(rows.length.size()) {
  for (std::size_t at = 0; at < rows.length.size(); ++at) {
    tokens_ = std::max(tokens_, rows.tokens(at));
  }
}

void KeySelection::enter(std::int64_t layer, MatrixView<const float> input,
                         MatrixView<const float> latents,
                         std::span<const RotaryTable* const> tables) {
  const IndexerSpec& spec = *spec_.layers[static_cast<std::size_t>(layer)].attention.indexer;
  const bool selects = tokens_ > spec.kept;
  if (spec.shared || (!selects && caches_.empty())) return;
  make_keys(layer, input, tables);
  if (!selects) return;
  make_queries(layer, input, latents, tables);
  std::vector<Block> blocks;
  for (std::size_t sequence = 0; sequence < seen_.size(); ++sequence) {
    const std::int64_t queries = rows_.length[sequence], tokens = rows_.tokens(sequence);
    if (tokens <= spec.kept) continue;
    sized(seen_[sequence], queries, tokens);
    const std::int64_t at_once = std::max<std::int64_t>(kScoresAtOnce / spec.heads / tokens, 1);
    for (std::int64_t first = 0; first < queries; first += at_once) {
      blocks.push_back({sequence, first, std::min(at_once, queries - first)});
    }
  }
  const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};  // single-threaded
  run_parts(compute_, blocks.size(), [&](std::size_t part) { select(layer, blocks[part], alone); });
}

/// Computes the indexer keys of all new tokens, and stores them in the caches.
void KeySelection::make_keys(std::int64_t layer, MatrixView<const float> input,
                             std::span<const RotaryTable* const> tables) {
  const IndexerWeights& weights = *weights_.layers[static_cast<std::size_t>(layer)].indexer;
  const MatrixView<float> keys = sized(keys_, rows_.total, weights.key->weights.outputs());
  apply(*weights.key, input, {}, keys, compute_);
  apply_norm(weights.key_norm, keys, keys, compute_);
  for (std::size_t sequence = 0; sequence < seen_.size(); ++sequence) {
    const MatrixView<float> own = keys.row_block(rows_.first[sequence], rows_.length[sequence]);
    if (!tables.empty()) rotate(own, *tables[sequence], Rotation::forward, compute_);
    if (caches_.empty()) continue;
    const MatrixView<float> kept = caches_[sequence].indexer_keys(layer);
    for (std::int64_t row = 0; row < own.rows; ++row) {
      std::copy_n(&own(row, 0), own.cols, &kept(rows_.first_position(sequence) + row, 0));
    }
  }
}

void KeySelection::make_queries(std::int64_t layer, MatrixView<const float> input,
                                MatrixView<const float> latents,
                                std::span<const RotaryTable* const> tables) {
  const IndexerWeights& weights = *weights_.layers[static_cast<std::size_t>(layer)].indexer;
  const std::int64_t dim = weights.key->weights.outputs(),
                     heads = weights.weights->weights.outputs();
  const MatrixView<float> queries = sized(queries_, rows_.total, heads * dim);
  apply(*weights.query, latents, {}, queries, compute_);
  apply(*weights.weights, input, {}, sized(parts_, rows_.total, heads), compute_);
  if (tables.empty()) return;
  const auto count = static_cast<std::size_t>(heads);
  const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};  // single-threaded
  run_parts(compute_, seen_.size() * count, [&](std::size_t part) {
    const std::size_t sequence = part / count;
    const auto head = static_cast<std::int64_t>(part % count);
    rotate(
        queries.row_block(rows_.first[sequence], rows_.length[sequence]).col_block(head * dim, dim),
        *tables[sequence], Rotation::forward, alone);
  });
}

MatrixView<const float> KeySelection::keys_of(std::int64_t layer, std::size_t sequence) const {
  if (caches_.empty()) return keys_.view().row_block(rows_.first[sequence], rows_.length[sequence]);
  return caches_[sequence].indexer_keys(layer).row_block(0, rows_.tokens(sequence));
}

void KeySelection::select(std::int64_t layer, const Block& block, const Compute& alone) {
  const AttentionSpec& spec = spec_.layers[static_cast<std::size_t>(layer)].attention;
  const AttentionMask mask = mask_of(spec.mask);
  const std::int64_t heads = spec.indexer->heads, dim = spec.indexer->head_dim;
  const std::int64_t tokens = rows_.tokens(block.sequence);
  const std::int64_t position = rows_.first_position(block.sequence) + block.first;
  const std::int64_t row_before = rows_.first[block.sequence] + block.first;
  const std::int64_t last_end = mask.end_key(position + block.count - 1, tokens);
  // The heads of a query are consecutive rows of one product.
  const MatrixView<const float> queries{&queries_(row_before, 0), block.count * heads, dim, dim};
  Matrix<float> products;
  multiply_rows(queries, keys_of(layer, block.sequence).row_block(0, last_end), products, alone);

  std::vector<float> scores(static_cast<std::size_t>(last_end));
  for (std::int64_t row = 0; row < block.count; ++row) {
    const std::int64_t first = mask.first_key(position + row);
    const std::int64_t end = mask.end_key(position + row, tokens);
    std::fill(scores.begin(), scores.end(), 0.0F);
    // Factors common to all scores are omitted, because they do not change the order.
    for (std::int64_t head = 0; head < heads; ++head) {
      const float part = parts_(row_before + row, head);
      const float* product = &products(row * heads + head, 0);
      for (std::int64_t key = first; key < end; ++key) {
        const float positive = product[key] <= 0 ? 0.0F : product[key];  // NaN stays NaN
        scores[static_cast<std::size_t>(key)] += part * positive;
      }
    }
    const MatrixView<const float> own{scores.data() + first, 1, end - first, end - first};
    if (!all_finite(own)) {
      check_states(weights_, own,
                   "the indexer of layer " + std::to_string(layer) + " at token " +
                       std::to_string(position + row));
    }
    float* seen = &seen_[block.sequence](block.first + row, 0);
    std::fill(seen, seen + tokens, -std::numeric_limits<float>::infinity());
    see_best(scores, first, end, spec.indexer->kept, seen);
  }
}

MatrixView<const float> KeySelection::of(std::size_t sequence) const {
  const IndexerSpec* indexer = indexer_of(spec_);
  if (rows_.tokens(sequence) <= indexer->kept) return {};
  return seen_[sequence].view();
}

std::optional<std::int64_t> kept_keys(const ModelSpec& spec) {
  const IndexerSpec* indexer = indexer_of(spec);
  return indexer == nullptr ? std::nullopt : std::optional(indexer->kept);
}

std::int64_t selection_row_size(const ModelSpec& spec) {
  const IndexerSpec* indexer = indexer_of(spec);
  return indexer == nullptr ? 0 : indexer->heads * (indexer->head_dim + 1) + indexer->head_dim;
}

}  // namespace attnscope
