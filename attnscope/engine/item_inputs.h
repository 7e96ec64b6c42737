// Everything that the numbers of one item depend on, beside its analysis: the bytes that it reads,
// how matrices are cut from them, and facts such as the number of heads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/model/model.h"
#include "attnscope/rows/record.h"

namespace attnscope {

/// A tensor of one dimension as a matrix (1, size).
TensorMatrix as_row(const CheckpointTensor& tensor, std::int64_t size);

class ItemInputs {
 public:
  struct Read {
    const Checkpoint* checkpoint;
    const CheckpointTensor* tensor;
    std::vector<std::span<const std::byte>> bytes;  // the bytes that are read, perhaps with others
    std::uint64_t element_bytes;                    // of what is read
    Record geometry;                                // how it is cut from the tensor
  };

  ItemInputs& add(std::string name, Value value);
  /// Throws whatever reading the matrix would throw, so that no rows of a refused matrix are found
  /// in a store.
  ItemInputs& add_matrix(const Checkpoint& checkpoint, const CheckpointTensor& tensor,
                         const TensorMatrix& matrix);
  /// A projection of a model. If the files lack it, the reason is the input.
  ItemInputs& add_weight(const Model& model, std::int64_t layer, Role role);
  /// Everything that a role is made of: projections, and the norms of latents.
  ItemInputs& add_role(const Model& model, std::int64_t layer, Role role);
  /// The gain of a norm over `size` numbers, under that name; says so where there is none.
  ItemInputs& add_gain(const Model& model, const std::string& name, const Site& gain, double offset,
                       std::int64_t size);
  /// The same matrix of one expert.
  ItemInputs& add_expert(const Model& model, std::int64_t layer, std::int64_t expert, Role role);
  /// What the files lack, and why. Does nothing if `missing` is empty.
  ItemInputs& add_missing(const std::string& missing);
  /// The shape of the model's heads, and its width.
  ItemInputs& add_shape(const Model& model, std::int64_t layer);

  /// Facts that were added by name.
  const Record& facts() const { return facts_; }
  const std::vector<Read>& reads() const { return reads_; }
  /// Whether the files hold every matrix that was added.
  bool complete() const { return missing_.empty(); }
  /// Equal for items of this run that read the same tensors in the same way and share all facts.
  std::string identity() const;

  std::uint64_t bytes_read() const;

 private:
  Record facts_;
  std::vector<Read> reads_;
  std::string missing_;  // what the files lack, and why
};

}  // namespace attnscope
