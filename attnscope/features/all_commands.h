// All commands, and their analyses by name: maps a work item to its function.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/features/framework/command.h"

namespace attnscope {

/// Every command that any front end can offer.
std::span<const Command> commands();

/// Returns an element of commands(). Throws std::out_of_range, because only code can pass an
/// unknown name.
const Command& find_command_named(std::string_view name);

/// Returns the analyses of all commands.
std::vector<const Analysis*> analyses();

/// Returns null if no analysis has that name.
const Analysis* find_analysis(std::string_view name);

/// Computes one item, which may have been created by another process that has the same models open.
/// Throws Error(format) if the analysis, model, layer, role, head, tensor or a parameter is
/// missing. Throws Error(usage) for parameters that do not apply to the model.
std::vector<Outcome> compute_item(const WorkItem& item, std::span<const ModelSource> sources,
                                  const Compute& compute);

}  // namespace attnscope
