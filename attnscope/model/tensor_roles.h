// The role of each tensor of a checkpoint in its model, as `info` shows it.
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

/// Prefix of the roles of expert tensors.
inline constexpr std::string_view kOfExpert = "expert.";

struct RoleOfTensor {
  std::string role;
  std::optional<std::int64_t> layer;
  std::optional<std::int64_t> expert = {};
};

/// Returns the roles of tensors that contain projections and their biases.
std::map<const CheckpointTensor*, RoleOfTensor> projection_roles(const Model& model);

/// Returns patterns under the prefix of all tensors except projections and token embedding.
/// `with_optional`: includes tensors that valid files may lack, such as biases.
std::vector<TensorRule> sites_of(const Architecture& architecture, bool with_optional = true);

/// Returns the role of a tensor that contains no projection; "other" if no rule names it.
RoleOfTensor other_role(const Model& model, const std::vector<TensorRule>& sites,
                        const std::string& name);

/// Returns the checkpoint's tensors and aliases that the model's description names.
std::set<std::string> named_tensors(const Model& model);

}  // namespace attnscope
