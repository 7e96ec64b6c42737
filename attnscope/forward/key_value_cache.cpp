#include "attnscope/forward/key_value_cache.h"

#include <algorithm>
#include <limits>

#include "attnscope/core/checked.h"

namespace attnscope {

KeyValueCache::KeyValueCache(const Dimensions& dimensions, std::int64_t room)
    : room_(room), kv_heads_(dimensions.heads.kv_heads) {
  heads_.resize(static_cast<std::size_t>(dimensions.layers * kv_heads_));
  for (KeysAndValues& head : heads_) {
    head.reserve(room, dimensions.heads.head_dim, dimensions.heads.value_dim);
  }
}

std::uint64_t KeyValueCache::bytes(const Dimensions& dimensions, std::int64_t room) {
  const HeadShape& heads = dimensions.heads;
  auto bytes = KeysAndValues::bytes(room, heads.head_dim, heads.value_dim);
  for (const std::int64_t count : {dimensions.layers, heads.kv_heads}) {
    if (bytes) bytes = checked_mul(*bytes, static_cast<std::uint64_t>(count));
  }
  return bytes.value_or(std::numeric_limits<std::uint64_t>::max());
}

KeysAndValues& KeyValueCache::head(std::int64_t layer, std::int64_t kv_head) {
  return heads_[static_cast<std::size_t>(layer * kv_heads_ + kv_head)];
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
