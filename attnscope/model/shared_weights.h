// Which layers of a model are one and the same matrix of the file: ALBERT's, or any whose weights
// are tied by name.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/core/role.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// Roles that are the same matrix in all of these layers.
struct SharedWeights {
  std::vector<Role> roles;           // in the order of Role
  std::vector<std::int64_t> layers;  // ascending, at least two

  bool operator==(const SharedWeights&) const = default;
};

/// Each layer is named at most once for a role, and roles that the same layers share stand
/// together. A product, or two stacked, is shared where both of its factors are. Copies in a file
/// that merely hold the same bytes are matrices of their own. Reads no weights.
std::vector<SharedWeights> shared_weights(const Model& model);

}  // namespace attnscope
