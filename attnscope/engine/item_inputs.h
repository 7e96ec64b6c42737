// Everything that the results of one item depend on, apart from its analysis. This covers the bytes
// it reads, how matrices are cut from them, and info such as the number of heads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/model/model.h"
#include "attnscope/rows/record.h"

namespace attnscope {

/// Returns a one-dimensional tensor as a matrix (1, size).
TensorMatrix as_row(const CheckpointTensor& tensor, std::int64_t size);

class ItemInputs {
 public:
  struct Read {
    const Checkpoint* checkpoint;
    const CheckpointTensor* tensor;
    std::vector<std::span<const std::byte>> bytes;  // covers the bytes that are read
    std::uint64_t element_bytes;                    // size of the elements that are read
    Record geometry;                                // how the matrix is cut from the tensor
  };

  ItemInputs& add(std::string name, Value value);
  /// Throws whatever reading the matrix would throw, so that a store never returns rows of an
  /// invalid matrix.
  ItemInputs& add_matrix(const Checkpoint& checkpoint, const CheckpointTensor& tensor,
                         const TensorMatrix& matrix);
  /// Adds a projection of a model. If the files lack it, the reason is added instead.
  ItemInputs& add_weight(const Model& model, std::int64_t layer, Role role);
  /// Adds everything a role consists of: projections and the norms of MLA latents.
  ItemInputs& add_role(const Model& model, std::int64_t layer, Role role);
  /// Adds the gain of a norm over `size` dimensions as `name`, or records that it has none.
  ItemInputs& add_gain(const Model& model, const std::string& name, const Site& gain, double offset,
                       std::int64_t size);
  /// Adds the matrix with this role of one expert.
  ItemInputs& add_expert(const Model& model, std::int64_t layer, std::int64_t expert, Role role);
  /// Records what the files lack, and why. Does nothing if `missing` is empty.
  ItemInputs& add_missing(const std::string& missing);
  /// Adds the shape of the model's heads and its hidden size.
  ItemInputs& add_shape(const Model& model, std::int64_t layer);

  /// Returns the values that were added by name.
  const Record& facts() const { return facts_; }
  const std::vector<Read>& reads() const { return reads_; }
  /// Returns whether the files contain every matrix that was added.
  bool complete() const { return missing_.empty(); }
  /// Returns a key that is equal for items of this run that read the same tensors in the same way
  /// and have equal named values.
  std::string identity() const;

  std::uint64_t bytes_read() const;

 private:
  Record facts_;
  std::vector<Read> reads_;
  std::string missing_;  // what the files lack, and why
};

}  // namespace attnscope
