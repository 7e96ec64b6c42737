// Weights that a model uses several times: matrices shared by layers, and tensors that the files
// contain twice.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/base/role.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// Roles that have the same matrix in all of these layers.
struct SharedWeights {
  std::vector<Role> roles;           // in the order of Role
  std::vector<std::int64_t> layers;  // ascending, at least two

  bool operator==(const SharedWeights&) const = default;
};

/// Returns the layers that use the same stored matrix: ALBERT's layers, or weights tied by name.
/// Each layer occurs at most once per role. Roles with the same layers form one entry. A product or
/// stack is shared if both of its components are. Copies with the same bytes count as separate
/// matrices. Reads no weights.
std::vector<SharedWeights> shared_weights(const Model& model);

/// Two tensors of a model's files, one of which may be a copy of the other.
struct TensorPair {
  const CheckpointTensor* copy = nullptr;
  const CheckpointTensor* original = nullptr;

  bool operator==(const TensorPair&) const = default;
};

/// Returns pairs of equal dtype and shape that may be copies in this architecture: an LM head that
/// repeats the embedding, biases under two names. Reads no weights.
std::vector<TensorPair> possible_copies(const Model& model);

/// Returns the possible copies that architecture and config declare to be one parameter, such as a
/// tied LM head, whatever their bytes. Reads no weights.
std::vector<TensorPair> declared_copies(const Model& model);

/// Whether both contain the same bytes. Reads all bytes, so run it as scheduled work. Throws
/// Error(io) if the file was truncated.
bool has_same_bytes(const Model& model, const TensorPair& pair);

}  // namespace attnscope
