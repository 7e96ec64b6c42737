// Looks work up in a store before computing it, and keeps new results there.
#pragma once

#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/outcome.h"
#include "attnscope/engine/store/store.h"

namespace attnscope {

/// The source as a store keeps it.
StoredModel stored_model(const ModelSource& source);

/// One run of a command that keeps its items.
class StoredItems {
 public:
  StoredItems(Store& store, const StoredRun& run);

  /// The item's outcomes: from the store, or from `compute`, and then saved before this returns.
  /// Waits while another thread works on an item with the same inputs. Safe to call from any
  /// thread.
  std::vector<Outcome> get(const ItemInputs& inputs, std::vector<StoredPlace> places,
                           const std::function<std::vector<Outcome>()>& compute);

  /// Whether the item's outcomes are in the store, as far as that can be said without reading its
  /// matrices.
  bool holds(const ItemInputs& inputs);

  /// A hash of all that the outcomes of an item depend on. Reads its matrices.
  std::string hash_of(const ItemInputs& inputs);

  /// The file of the store.
  const std::string& path() const { return store_.path(); }

  void finish() { store_.finish(); }

 private:
  class Claim;

  std::vector<StoredTensor> tensors_of(const ItemInputs& inputs);
  std::optional<StoredTensor> known_tensor(const ItemInputs::Read& read);
  StoredTensor tensor_of(const ItemInputs::Read& read);

  Store& store_;
  std::mutex mutex_;
  std::condition_variable released_;
  std::set<std::string> under_way_;  // inputs
  std::map<const CheckpointTensor*, std::shared_future<StoredTensor>> tensors_;
};

}  // namespace attnscope
