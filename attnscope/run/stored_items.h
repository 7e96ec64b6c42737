// Work that is looked up in a store before it is done, and kept there after.
#pragma once

#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "attnscope/results/outcome.h"
#include "attnscope/run/analysis.h"
#include "attnscope/store/store.h"

namespace attnscope {

/// What a store keeps of the source.
StoredModel stored_model(const Source& source);

/// One run of a command that keeps its items.
class StoredItems {
 public:
  StoredItems(Store& store, const StoredRun& run);

  /// The item's outcomes: those of the store, else what `compute` gives, which the store has when
  /// this returns. While another thread works on an item with the same inputs, this waits for it.
  /// Safe to call from any thread.
  std::vector<Outcome> get(const ItemInputs& inputs, std::vector<StoredPlace> places,
                           const std::function<std::vector<Outcome>()>& compute);

  void finish() { store_.finish(); }

 private:
  class Claim;

  StoredTensor tensor_of(const ItemInputs::Read& read);

  Store& store_;
  std::mutex mutex_;
  std::condition_variable released_;
  std::set<std::string> under_way_;  // inputs
  std::map<const CheckpointTensor*, std::shared_future<StoredTensor>> tensors_;
};

}  // namespace attnscope
