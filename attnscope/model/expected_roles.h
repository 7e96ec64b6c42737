// The projections that a model should have, whether its files contain them or not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/model/model.h"

namespace attnscope {

/// Returns why a layer lacks a role that its architecture describes; empty if it has the role.
std::string why_not_in_layer(const ModelSpec& spec, Role role, std::int64_t layer);

/// Whether at least one layer is expected to have the role: the files contain it, or the
/// description has it although the files do not.
bool is_expected(const Model& model, Role role);

/// Returns matrices of the files that lie among a layer's projections but that no rule names.
/// Example: the gate of an MLP that is not gated according to the config. They are not used.
std::vector<std::string> unread_matrices(const Model& model);

}  // namespace attnscope
