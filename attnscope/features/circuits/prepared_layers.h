// Layers made ready for composition, shared by the pairs that they are in. An item computes the
// same without: this saves time.
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
#include "attnscope/features/circuits/composition_measures.h"
#include "attnscope/model/model.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// A layer's heads as readers of what earlier layers write, or as writers; empty where its circuit
/// is left out.
struct PreparedLayer {
  std::vector<ReadingHeads> readers;
  std::vector<WritingHeads> writers;
};

/// Owned by one run, whose items all have the same parameters. Any thread may call.
class PreparedLayers : public SharedResources {
 public:
  struct Key {
    const Model* model = nullptr;
    std::int64_t layer = 0;
    bool writes = false;

    auto operator<=>(const Key&) const = default;
  };

  /// Reserves memory for what one item needs. Prepared layers stay after the item ends, until
  /// another item needs the memory. So they never take more than concurrent items have reserved at
  /// some time.
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

  /// What prepare() returns, called by the first who asks; others help it meanwhile. `bytes` is
  /// what it will take, covered by the caller's Room. Throws what prepare() throws, and Stopped.
  std::shared_ptr<const PreparedLayer> get(const Key& key, std::uint64_t bytes,
                                           const Compute& compute,
                                           const std::function<PreparedLayer()>& prepare);

 private:
  struct Entry {
    Key key;
    std::uint64_t bytes;
    std::shared_ptr<const PreparedLayer> layer = nullptr;  // null while it is prepared
    std::shared_ptr<std::atomic<bool>> over = std::make_shared<std::atomic<bool>>(false);
  };

  void make_room(std::uint64_t bytes);

  std::mutex mutex_;  // guards all below
  std::condition_variable prepared_;
  std::list<Entry> entries_;      // the one asked for last comes last
  std::uint64_t room_bytes_ = 0;  // of all items under way
  std::uint64_t kept_bytes_ = 0;
};

}  // namespace attnscope
