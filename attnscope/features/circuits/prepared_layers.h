// Cache of layers prepared for composition, shared by all pairs that contain them. Items give the
// same results without it, but slower.
#pragma once

#include <atomic>
#include <compare>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/features/common/composition_measures.h"
#include "attnscope/model/model.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// The heads of a layer as readers or writers; empty if its circuit is skipped.
struct PreparedLayer {
  std::vector<ReadingHeads> readers;
  std::vector<WritingHeads> writers;
};

/// Belongs to one run, whose items all have the same parameters. Thread-safe.
class PreparedLayers : public SharedResources {
 public:
  struct Key {
    const Model* model = nullptr;
    std::int64_t layer = 0;
    bool writes = false;

    auto operator<=>(const Key&) const = default;
  };

  /// Reserves memory for one item. Prepared layers stay after the item ends, until another item
  /// needs the memory. So they never exceed the largest reservation of concurrent items.
  class Room {
   public:
    Room(PreparedLayers& layers, std::uint64_t bytes);
    ~Room();
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;

   private:
    PreparedLayers& layers_;
    std::uint64_t bytes_;
  };

  /// Returns the result of prepare(). The first caller calls it; the others help meanwhile.
  /// `bytes`: memory of the result, covered by the caller's Room. Throws the errors of prepare(),
  /// and Stopped.
  std::shared_ptr<const PreparedLayer> get(const Key& key, std::uint64_t bytes,
                                           const Compute& compute,
                                           const std::function<PreparedLayer()>& prepare);

 private:
  struct Entry {
    Key key;
    std::uint64_t bytes;
    std::shared_ptr<const PreparedLayer> layer = nullptr;  // null while it is being prepared
    std::shared_ptr<std::atomic<bool>> over = std::make_shared<std::atomic<bool>>(false);
  };

  void make_room(std::uint64_t bytes);

  std::mutex mutex_;  // guards all members below
  std::condition_variable prepared_;
  std::list<Entry> entries_;      // least recently used first
  std::uint64_t room_bytes_ = 0;  // of all running items
  std::uint64_t kept_bytes_ = 0;
};

}  // namespace attnscope
