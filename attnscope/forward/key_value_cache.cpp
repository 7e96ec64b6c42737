#include "attnscope/forward/key_value_cache.h"

#include <algorithm>
#include <limits>

#include "attnscope/core/checked.h"

namespace attnscope {

KeyValueCache::KeyValueCache(const Dimensions& dimensions, std::int64_t room)
    : room_(room), kv_heads_(dimensions.heads.kv_heads) {
  std::int64_t attending = 0, others = 0;
  for (std::int64_t layer = 0; layer < dimensions.layers; ++layer) {
    place_.push_back(dimensions.attends(layer) ? attending++ : others++);
  }
  if (others > 0) state_size_ = dimensions.mixers->state;
  states_.resize(static_cast<std::size_t>(others * state_size_));
  next_states_.resize(states_.size());
  heads_.resize(static_cast<std::size_t>(attending * kv_heads_));
  for (KeysAndValues& head : heads_) {
    head.reserve(room, dimensions.heads.head_dim, dimensions.heads.value_dim);
  }
}

std::uint64_t KeyValueCache::bytes(const Dimensions& dimensions, std::int64_t room) {
  const HeadShape& heads = dimensions.heads;
  auto bytes = KeysAndValues::bytes(room, heads.head_dim, heads.value_dim);
  const std::int64_t attending = std::ssize(dimensions.attention_layers());
  for (const std::int64_t count : {attending, heads.kv_heads}) {
    if (bytes) bytes = checked_mul(*bytes, static_cast<std::uint64_t>(count));
  }
  if (bytes && attending < dimensions.layers) {
    const auto others = static_cast<std::uint64_t>(dimensions.layers - attending);
    const auto state = static_cast<std::uint64_t>(dimensions.mixers->state);
    const auto of_states = checked_mul(2 * sizeof(float) * state, others);  // and the next ones
    bytes = of_states ? checked_add(*bytes, *of_states) : std::nullopt;
  }
  return bytes.value_or(std::numeric_limits<std::uint64_t>::max());
}

KeysAndValues& KeyValueCache::head(std::int64_t layer, std::int64_t kv_head) {
  const std::int64_t place = place_[static_cast<std::size_t>(layer)];
  return heads_[static_cast<std::size_t>(place * kv_heads_ + kv_head)];
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
