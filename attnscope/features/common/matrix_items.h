// Selects the layers and matrices to analyze.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/role.h"
#include "attnscope/engine/runner.h"
#include "attnscope/features/framework/selections.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// In the order of Role.
inline constexpr auto kEveryRole = [] {
  std::array<Role, kRoleNames.size()> all{};
  for (std::size_t role = 0; role < all.size(); ++role) all[role] = static_cast<Role>(role);
  return all;
}();

/// Returns the matrices to analyze in each model. These are the `wanted` ones that its architecture
/// has, in that order; by default the projections in its files. Throws Error(usage) for a wanted
/// matrix that no model has. Adds a note for a model without any of them. `of_experts`: matrices of
/// experts count as matrices of the MLP.
std::vector<std::vector<Role>> select_matrices(std::span<const Model> models,
                                               std::span<const Role> wanted, RowSink& notes,
                                               bool of_experts = false);

/// Adds notes about weights that `info` lists but no analysis covers, with the reason.
void note_set_aside(std::span<const Model> models, RowSink& notes);

/// Returns the selected layers that have attention; a note names the others. Throws Error(usage) if
/// none has attention.
std::vector<std::int64_t> attention_layers(const LayerSelection& layers, const Model& model,
                                           RowSink* notes = nullptr);

/// Whether the layer has no matrix of this role by its kind and was not requested by number.
bool is_passed_over(const LayerSelection& layers, const Model& model, Role role,
                    std::int64_t layer);

/// Adds notes about layers that have another mixer instead of attention. Applies if one of the
/// model's roles belongs to attention and no layer was requested by number.
void note_other_mixers(std::span<const Model> models, std::span<const std::vector<Role>> roles,
                       const LayerSelection& layers, RowSink& notes);

/// Adds an item for each role of a model in each selected layer that has it, layer by layer.
void add_layers(Plan& plan, std::span<const Model> models, std::span<const std::vector<Role>> roles,
                const LayerSelection& layers, RowSink& notes);

/// The role names as a list; null if there are none.
Value roles_value(std::span<const Role> roles);

}  // namespace attnscope
