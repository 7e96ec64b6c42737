// All commands, and their analyses by name: what leads from a work item to its function.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/features/framework/command.h"

namespace attnscope {

/// Every command that any front end can offer.
std::span<const Command> commands();

/// That of commands(); throws std::out_of_range: only code can name one that is not there.
const Command& find_command_named(std::string_view name);

/// Of all commands.
std::vector<const Analysis*> analyses();

/// Null where none has that name.
const Analysis* find_analysis(std::string_view name);

/// Computes one item, which may have been made by another process that has the same models open.
/// Throws Error(format) for an analysis, a model, a layer, a role, a head or a tensor that is not
/// there, and for parameters that are missing; Error(usage) for some that have no meaning for its
/// model.
std::vector<Outcome> compute_item(const WorkItem& item, std::span<const ModelSource> sources,
                                  const Compute& compute);

}  // namespace attnscope
