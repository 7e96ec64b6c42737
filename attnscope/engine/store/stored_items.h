// Looks up items in a store before computing them, and stores new results.
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

/// Returns the record of a source in a store.
StoredModel stored_model(const ModelSource& source);

/// One run of a command that stores its items.
class StoredItems {
 public:
  StoredItems(Store& store, const StoredRun& run);

  /// Returns the item's outcomes from the store, or from `compute`, and then saves them before it
  /// returns. Waits while another thread computes an item with the same inputs. Thread-safe.
  std::vector<Outcome> get(const ItemInputs& inputs, std::vector<StoredPlace> places,
                           const std::function<std::vector<Outcome>()>& compute);

  /// Returns whether the store has the item's outcomes, as far as this is known without reading its
  /// matrices.
  bool holds(const ItemInputs& inputs);

  /// Returns a hash of everything that the outcomes of an item depend on. Reads its matrices.
  std::string hash_of(const ItemInputs& inputs);

  /// Path of the store file.
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
  std::set<std::string> under_way_;  // inputs of the items being computed
  std::map<const CheckpointTensor*, std::shared_future<StoredTensor>> tensors_;
};

}  // namespace attnscope
