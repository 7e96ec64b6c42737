// Runs of a model in PyTorch, which the command line of the Python package offers.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "attnscope/engine/outcome.h"
#include "attnscope/engine/work_item.h"
#include "attnscope/features/framework/command.h"

namespace attnscope {

/// A model that PyTorch runs.
struct RunInPyTorch {
  std::vector<Model> models;  // stacks of the model, whose weights are in memory
  /// Context::compute_elsewhere of the run. Empty: PyTorch only runs the layers of the models.
  std::function<std::vector<Outcome>(const WorkItem&, const std::stop_token&)> compute;
  std::shared_ptr<const void> held;  // what the run uses
};

/// Opens the model of a command with {device}. Throws Error.
using OpenLive = std::function<RunInPyTorch(const Command&, const Arguments&)>;

/// Lets the session run the command's model by `open_live`, if {device} is given. Throws
/// Error(unsupported) if `open_live` is null.
void add_live_run(const Command& command, const Arguments& arguments, const OpenLive& open_live,
                  Session& session);

}  // namespace attnscope
