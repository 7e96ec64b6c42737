// Layers of a model that use one and the same matrix of the file: ALBERT's, or weights that are
// tied by name.
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

/// Each layer occurs at most once for a role. Roles with the same layers are one entry. A product
/// or stacked role is shared if both of its factors are. Copies with the same bytes are separate
/// matrices. Reads no weights.
std::vector<SharedWeights> shared_weights(const Model& model);

}  // namespace attnscope
