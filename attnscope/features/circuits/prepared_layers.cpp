#include "attnscope/features/circuits/prepared_layers.h"

#include <algorithm>
#include <utility>

#include "attnscope/numerics/compute.h"

namespace attnscope {

PreparedLayers::Room::Room(PreparedLayers& layers, std::uint64_t bytes)
    : layers_(layers), bytes_(bytes) {
  const std::scoped_lock lock(layers_.mutex_);
  layers_.room_bytes_ += bytes_;
  layers_.make_room(0);
}

PreparedLayers::Room::~Room() {
  const std::scoped_lock lock(layers_.mutex_);
  layers_.room_bytes_ -= bytes_;
}

/// Drops unused layers, least recently used first, until `bytes` more fit.
void PreparedLayers::make_room(std::uint64_t bytes) {
  for (auto at = entries_.begin(); at != entries_.end() && kept_bytes_ + bytes > room_bytes_;) {
    const bool is_used = at->layer == nullptr || at->layer.use_count() > 1;
    if (is_used) {
      ++at;
      continue;
    }
    kept_bytes_ -= at->bytes;
    at = entries_.erase(at);
  }
}

std::shared_ptr<const PreparedLayer> PreparedLayers::get(
    const Key& key, std::uint64_t bytes, const Compute& compute,
    const std::function<PreparedLayer()>& prepare) {
  std::unique_lock lock(mutex_);
  const auto find = [&] {
    return std::find_if(entries_.begin(), entries_.end(),
                        [&](const Entry& entry) { return entry.key == key; });
  };
  for (auto entry = find(); entry != entries_.end(); entry = find()) {
    entries_.splice(entries_.end(), entries_, entry);
    if (entry->layer) return entry->layer;
    const auto over = entry->over;
    if (compute.team != nullptr) {
      lock.unlock();
      compute.team->lend([&] { return over->load(); });
      lock.lock();
    } else {
      prepared_.wait(lock, [&] { return over->load(); });
    }
    compute.check_stop();
  }
  make_room(bytes);
  const auto own = entries_.insert(entries_.end(), {.key = key, .bytes = bytes});
  kept_bytes_ += bytes;
  lock.unlock();
  const auto end = [&](std::shared_ptr<const PreparedLayer> layer) {
    lock.lock();
    own->over->store(true);
    own->layer = layer;
    if (!layer) {
      kept_bytes_ -= bytes;
      entries_.erase(own);
    }
    lock.unlock();
    prepared_.notify_all();
    if (compute.team != nullptr) compute.team->recall();
  };
  try {
    auto layer = std::make_shared<const PreparedLayer>(prepare());
    end(layer);
    return layer;
  } catch (...) {
    end(nullptr);
    throw;
  }
}

}  // namespace attnscope
