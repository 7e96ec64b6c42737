#include "attnscope/model/expected_roles.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/model/tensor_roles.h"

namespace attnscope {
namespace {

/// Returns the parent module of a weight's module: "layers.0.mlp" for
/// "layers.0.mlp.up_proj.weight". Returns an empty text if there is none.
std::string_view parent_of(std::string_view tensor) {
  const auto last = tensor.rfind('.');
  const auto before = last == std::string_view::npos || last == 0 ? std::string_view::npos
                                                                  : tensor.rfind('.', last - 1);
  return before == std::string_view::npos ? std::string_view() : tensor.substr(0, before);
}

}  // namespace

std::string why_not_in_layer(const ModelSpec& spec, Role role, std::int64_t layer) {
  if (std::string why = why_not_mixed(spec.dimensions, role, layer); !why.empty()) return why;
  const std::string number = "layer " + std::to_string(layer);
  const auto shared = spec.sharing_of(layer).from;
  if (shared && (role == Role::key || role == Role::value)) {
    return number + " reuses the keys and values of layer " + std::to_string(*shared);
  }
  if (is_of_mlp(role) && spec.has_experts(layer))
    return number + " has experts instead of a dense MLP";
  if (!is_beside_experts(role)) return "";
  if (!spec.has_experts(layer)) return number + " has no experts";
  if (role != Role::router && spec.dimensions.shared_width == 0) return "has no shared experts";
  return "";
}

std::vector<std::string> unread_matrices(const Model& model) {
  const auto projections = projection_roles(model);
  std::set<std::string_view> parents;
  for (const auto& [tensor, role] : projections) {
    const std::string_view parent = parent_of(tensor->name);
    if (!parent.empty()) parents.insert(parent);
  }
  const std::vector<TensorRule> sites = sites_of(model.spec().architecture);
  std::set<std::string> of_siblings;
  for (const std::string_view stack : {"encoder", "decoder", "cross", "text", "vision"}) {
    const Model* sibling = stack == model.stack() ? nullptr : model.sibling(stack);
    if (sibling != nullptr) of_siblings.merge(named_tensors(*sibling));
  }
  std::vector<std::string> unread;
  for (const CheckpointTensor& tensor : model.checkpoint().tensors()) {
    const Shape& shape = tensor.view.shape;
    const bool is_matrix = shape.size() == 2 && shape[0] > 1 && shape[1] > 1 &&
                           dtype_info(tensor.view.dtype).kind == DTypeClass::real;
    if (!is_matrix || projections.contains(&tensor)) continue;
    if (!parents.contains(parent_of(tensor.name)) || of_siblings.contains(tensor.name)) continue;
    if (other_role(model, sites, tensor.name).role == "other") unread.push_back(tensor.name);
  }
  return unread;
}

bool is_expected(const Model& model, Role role) {
  if (model.has(role) || !model.describes(role)) return model.has(role);
  const std::vector<Role> parts = model.parts_of(role);
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    const bool in_layer = std::all_of(parts.begin(), parts.end(), [&](Role part) {
      return why_not_in_layer(model.spec(), part, layer).empty();
    });
    if (in_layer) return true;
  }
  return false;
}

}  // namespace attnscope
