#include "attnscope/serve/raw_maps.h"

#include <algorithm>

namespace attnscope {

void RawMaps::add(std::size_t model, std::int64_t layer, std::int64_t tokens, std::int64_t keys,
                  std::span<const float> maps) {
  if (models_.empty() || models_.back().model != model) {
    models_.push_back({.model = model,
                       .layers = {},
                       .heads = std::ssize(maps) / (tokens * keys),
                       .tokens = tokens,
                       .keys = keys});
    begins_.push_back(spool_.size());
  }
  models_.back().layers.push_back(layer);
  spool_.append({reinterpret_cast<const char*>(maps.data()), maps.size_bytes()});
}

std::optional<RawMaps::Map> RawMaps::find(std::size_t model, std::int64_t layer,
                                          std::int64_t head) const {
  for (std::size_t entry = 0; entry < models_.size(); ++entry) {
    const OfModel& of = models_[entry];
    const auto at = std::find(of.layers.begin(), of.layers.end(), layer);
    if (of.model != model || at == of.layers.end() || head < 0 || head >= of.heads) continue;
    const auto bytes = static_cast<std::uint64_t>(of.tokens * of.keys) * sizeof(float);
    const std::int64_t before = (at - of.layers.begin()) * of.heads + head;
    return Map{of.tokens, of.keys, begins_[entry] + static_cast<std::uint64_t>(before) * bytes,
               bytes};
  }
  return std::nullopt;
}

std::string RawMaps::read(const Map& map, std::uint64_t offset, std::size_t length) {
  const std::scoped_lock lock(mutex_);
  return spool_.read(map.at + offset, length);
}

}  // namespace attnscope
