// What each tensor of a checkpoint is to its model, as `info` names it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/model/model.h"

namespace attnscope {

/// Before the roles of experts' tensors.
inline constexpr std::string_view kOfExpert = "expert.";

struct RoleOfTensor {
  std::string role;
  std::optional<std::int64_t> layer;
  std::optional<std::int64_t> expert = {};
};

/// Of the tensors that hold projections and their biases.
std::map<const CheckpointTensor*, RoleOfTensor> projection_roles(const Model& model);

/// Patterns under the prefix of all tensors beside projections and token embedding.
/// `with_optional`: those too without which files are valid, such as biases.
std::vector<TensorRule> sites_of(const Architecture& architecture, bool with_optional = true);

/// Of a tensor that holds no projection; "other" where nothing names it.
RoleOfTensor other_role(const Model& model, const std::vector<TensorRule>& sites,
                        const std::string& name);

/// Of all the checkpoint's tensors and aliases, those that the model's description names.
std::set<std::string> named_tensors(const Model& model);

}  // namespace attnscope
