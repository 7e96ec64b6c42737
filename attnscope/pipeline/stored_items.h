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

#include "attnscope/model/model.h"
#include "attnscope/results/outcome.h"
#include "attnscope/store/store.h"

namespace attnscope {

/// All that the numbers of one item depend on beside its analysis: which bytes it reads, how they
/// are cut into a matrix, and what else is said of them.
class ItemInputs {
 public:
  ItemInputs& add(std::string name, Value value);
  /// Throws what reading it would throw, so that no row is found for what would be refused.
  ItemInputs& add_matrix(const Checkpoint& checkpoint, const CheckpointTensor& tensor,
                         const TensorMatrix& matrix);
  /// Of the model that every analysis may depend on: how its heads are cut, and its width.
  ItemInputs& add_shape(const Model& model);

 private:
  friend class StoredItems;
  struct Read {
    const Checkpoint* checkpoint;
    const CheckpointTensor* tensor;
    Record geometry;
  };
  Record facts_;
  std::vector<Read> reads_;
};

StoredModel stored_model(const Model& model, Record facts);
StoredModel stored_checkpoint(const Checkpoint& checkpoint, std::string name, Record facts);

/// One run of a command that keeps its items.
class StoredItems {
 public:
  StoredItems(Store& store, const StoredRun& run);

  /// The item's outcomes: those of the store, else what `compute` gives, which is then on the disk.
  /// An item whose inputs another thread is working on is waited for. Safe to call from any thread.
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
