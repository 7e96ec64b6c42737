// All that the numbers of one item depend on beside its analysis: which bytes it reads, how they
// are cut into matrices, and what else is said of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/model/model.h"
#include "attnscope/results/record.h"

namespace attnscope {

class ItemInputs {
 public:
  struct Read {
    const Checkpoint* checkpoint;
    const CheckpointTensor* tensor;
    std::span<const std::byte> bytes;  // of the tensor, from the first that is read to the last
    std::uint64_t element_bytes;       // of the elements that are read
    Record geometry;                   // how they are cut from the tensor
  };

  ItemInputs& add(std::string name, Value value);
  /// Throws what reading it would throw, so that no row is found for what would be refused.
  ItemInputs& add_matrix(const Checkpoint& checkpoint, const CheckpointTensor& tensor,
                         const TensorMatrix& matrix);
  /// A projection of a model; one that its files lack is an input by that.
  ItemInputs& add_weight(const Model& model, std::int64_t layer, Role role);
  /// What the files lack, and why; nothing where that is empty.
  ItemInputs& add_missing(const std::string& missing);
  /// Of the model that every analysis may depend on: how its heads are cut, and its width.
  ItemInputs& add_shape(const Model& model);

  /// Beside the matrices.
  const Record& facts() const { return facts_; }
  const std::vector<Read>& reads() const { return reads_; }
  /// Whether the files hold all of it.
  bool complete() const { return missing_.empty(); }
  /// Equal for items of this run that read the same bytes in the same way.
  std::string identity() const;

  std::uint64_t bytes_read() const;
  /// Asks the system to read them soon, and does not wait for them.
  void prefetch() const;

 private:
  Record facts_;
  std::vector<Read> reads_;
  std::string missing_;  // what the files lack, and why
};

}  // namespace attnscope
