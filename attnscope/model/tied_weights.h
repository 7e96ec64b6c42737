// Weights that a model uses several times: matrices that layers share, and tensors that the files
// hold twice.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/base/role.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// Roles that are the same matrix in all of these layers.
struct SharedWeights {
  std::vector<Role> roles;           // in the order of Role
  std::vector<std::int64_t> layers;  // ascending, at least two

  bool operator==(const SharedWeights&) const = default;
};

/// The layers that use one matrix of the files: ALBERT's, or weights that are tied by name.
/// Each layer occurs at most once for a role. Roles with the same layers are one entry. A product
/// or stacked role is shared if both of its factors are. Copies with the same bytes are separate
/// matrices. Reads no weights.
std::vector<SharedWeights> shared_weights(const Model& model);

/// Two tensors of a model's files, one of which may repeat the other.
struct TensorPair {
  const CheckpointTensor* copy = nullptr;
  const CheckpointTensor* original = nullptr;

  bool operator==(const TensorPair&) const = default;
};

/// Pairs of equal dtype and shape that may be repetitions in this architecture: an output head
/// that repeats the embedding, biases under two names. Reads no weights.
std::vector<TensorPair> possible_copies(const Model& model);

/// The possible copies that architecture and config declare to be one parameter (an output head
/// that the config ties), whatever their bytes. Reads no weights.
std::vector<TensorPair> declared_copies(const Model& model);

/// Whether both hold the same bytes. Reads all bytes, so schedule it as work. Throws Error(io) if
/// the file was truncated.
bool has_same_bytes(const Model& model, const TensorPair& pair);

}  // namespace attnscope
