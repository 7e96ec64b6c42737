// Which layers and matrices a command looks at.
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

/// The matrices to look at in each model: those of `wanted` that its architecture has, in the order
/// of `wanted`; where nothing is wanted, the projections that its files have. Throws Error(usage)
/// for a wanted one that no model has. A model that has none of them gives a note. `of_experts`:
/// those of experts count as the MLP's.
std::vector<std::vector<Role>> select_matrices(std::span<const Model> models,
                                               std::span<const Role> wanted, RowSink& notes,
                                               bool of_experts = false);

/// Says which weights of each model are listed by `info` and looked at by no analysis, and why.
void note_set_aside(std::span<const Model> models, RowSink& notes);

/// The chosen layers that attend; a note names those that do not. Throws Error(usage) where none
/// does.
std::vector<std::int64_t> attention_layers(const LayerSelection& layers, const Model& model,
                                           RowSink* notes = nullptr);

/// Whether nobody asked by number for a layer that has no matrix of that role by its kind.
bool is_passed_over(const LayerSelection& layers, const Model& model, Role role,
                    std::int64_t layer);

/// Says which layers of each model have something else than attention, where one of its roles is
/// the attention's and no layer was asked for by number.
void note_other_mixers(std::span<const Model> models, std::span<const std::vector<Role>> roles,
                       const LayerSelection& layers, RowSink& notes);

/// An item for each of a model's roles in each chosen layer that has it, layer by layer.
void add_layers(Plan& plan, std::span<const Model> models, std::span<const std::vector<Role>> roles,
                const LayerSelection& layers, RowSink& notes);

/// The names of roles as a list; null where there are none.
Value roles_value(std::span<const Role> roles);

}  // namespace attnscope
