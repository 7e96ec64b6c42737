// Which projections a model should have, whether its files hold them or not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/model/model.h"

namespace attnscope {

/// Why a layer of the model lacks a role that its architecture has; empty where it has it.
std::string why_not_in_layer(const ModelSpec& spec, Role role, std::int64_t layer);

/// Whether the files hold the role for at least one layer, or lack it although the description has
/// it for one.
bool is_expected(const Model& model, Role role);

/// Matrices of the files that stand among a layer's projections and that no rule names: a gate of
/// an MLP which the config says is not gated, for example. Nothing reads them.
std::vector<std::string> unread_matrices(const Model& model);

}  // namespace attnscope
