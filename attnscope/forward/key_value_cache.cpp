#include "attnscope/forward/key_value_cache.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "attnscope/base/checked_arithmetic.h"
#include "attnscope/forward/matrix_buffers.h"

namespace attnscope {

namespace {

/// Returns the key dimension of a layer's indexer. 0 if it has none.
std::int64_t indexer_dim(const ModelSpec& spec, std::int64_t layer) {
  if (spec.layers.empty()) return 0;
  const auto& indexer = spec.layers[static_cast<std::size_t>(layer)].attention.indexer;
  return indexer && !indexer->shared ? indexer->head_dim : 0;
}

}  // namespace

KeyValueCache::KeyValueCache(const ModelSpec& spec, std::int64_t room) : room_(room) {
  const Dimensions& dimensions = spec.dimensions;
  std::int64_t mixers = 0;
  for (std::int64_t layer = 0; layer < dimensions.layers; ++layer) {
    auto& heads = layers_.emplace_back();
    const std::int64_t of_indexer = indexer_dim(spec, layer);
    indexer_keys_.push_back(of_indexer > 0 ? Matrix<float>(room, of_indexer) : Matrix<float>());
    place_.push_back(mixers);
    if (dimensions.mixes(layer)) ++mixers;
    if (!dimensions.attends(layer) || spec.sharing_of(layer).from) continue;
    const HeadShape& shape = spec.dimensions_of(layer).heads;
    heads.resize(static_cast<std::size_t>(shape.kv_heads));
    for (KeysAndValues& head : heads) head.reserve(room, shape.head_dim, shape.value_dim);
    cross_.emplace_back(heads.size());
  }
  if (mixers > 0) state_size_ = dimensions.mixers->state;
  states_.resize(static_cast<std::size_t>(mixers * state_size_));
  next_states_.resize(states_.size());
}

std::uint64_t KeyValueCache::bytes(const ModelSpec& spec, std::int64_t room,
                                   std::int64_t encoder_length) {
  const Dimensions& dimensions = spec.dimensions;
  std::optional<std::uint64_t> sum = 0;
  const auto add = [&](std::optional<std::uint64_t> own) {
    if (sum) sum = own ? checked_add(*sum, *own) : std::nullopt;
  };
  for (std::int64_t layer = 0; layer < dimensions.layers; ++layer) {
    if (dimensions.mixes(layer)) {  // current and next state
      add(checked_mul(2 * sizeof(float), static_cast<std::uint64_t>(dimensions.mixers->state)));
    }
    if (!dimensions.attends(layer) || spec.sharing_of(layer).from) continue;
    const HeadShape& heads = spec.dimensions_of(layer).heads;
    for (const std::int64_t tokens : {room, encoder_length}) {
      const auto of_head = KeysAndValues::bytes(tokens, heads.head_dim, heads.value_dim);
      add(of_head ? checked_mul(*of_head, static_cast<std::uint64_t>(heads.kv_heads))
                  : std::nullopt);
    }
    add(checked_mul(sizeof(float) * static_cast<std::uint64_t>(room),
                    static_cast<std::uint64_t>(indexer_dim(spec, layer))));
  }
  return sum.value_or(std::numeric_limits<std::uint64_t>::max());
}

KeysAndValues& KeyValueCache::head(std::int64_t layer, std::int64_t kv_head) {
  return layers_[static_cast<std::size_t>(layer)][static_cast<std::size_t>(kv_head)];
}

KeysAndValues& KeyValueCache::cross_head(std::int64_t layer, std::int64_t kv_head) {
  return cross_[static_cast<std::size_t>(layer)][static_cast<std::size_t>(kv_head)];
}

std::span<const float> KeyValueCache::state(std::int64_t layer) const {
  if (tokens_.empty()) return {};
  return std::span(states_).subspan(
      static_cast<std::size_t>(place_[static_cast<std::size_t>(layer)] * state_size_),
      static_cast<std::size_t>(state_size_));
}

std::span<float> KeyValueCache::next_state(std::int64_t layer) {
  return std::span(next_states_)
      .subspan(static_cast<std::size_t>(place_[static_cast<std::size_t>(layer)] * state_size_),
               static_cast<std::size_t>(state_size_));
}

void KeyValueCache::keep(std::int64_t count) {
  if (!states_.empty() && count < std::ssize(tokens_)) count = 0;
  tokens_.resize(static_cast<std::size_t>(count));
}

void KeyValueCache::copy_from(const KeyValueCache& other, std::int64_t first_layer) {
  tokens_ = other.tokens_;
  for (auto layer = static_cast<std::size_t>(first_layer); layer < layers_.size(); ++layer) {
    for (std::size_t head = 0; head < layers_[layer].size(); ++head) {
      layers_[layer][head].copy_from(other.layers_[layer][head]);
    }
    if (indexer_keys_[layer].rows() > 0) {
      copy_into(indexer_keys_[layer].view(), other.indexer_keys_[layer].view());
    }
  }
}

void KeyValueCache::add(const TokenIds& tokens) {
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  std::swap(states_, next_states_);
}

bool can_continue(const ModelSpec& spec, std::int64_t past, std::int64_t tokens) {
  if (spec.stream.dropped_token) return false;
  return std::all_of(spec.layers.begin(), spec.layers.end(), [&](const LayerSpec& layer) {
    const AttentionSpec& attention = layer.attention;
    if (!attention.mask.causal) return false;
    if (!attention.rope || attention.rope->scaling != RopeScaling::longrope) return true;
    const double short_to = attention.rope->original_context;
    return static_cast<double>(past) > short_to || static_cast<double>(tokens) <= short_to;
  });
}

}  // namespace attnscope
