// What a command's MODEL arguments name: paths, and models of the hub.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/commands/command.h"
#include "attnscope/hub/model_id.h"

namespace attnscope {

struct NamedModel {
  std::string text;                       // as an argument would name it
  std::string path;                       // the text without a stack's name
  std::string stack = {};                 // the only stack that is asked for; empty: all
  std::optional<HubModelId> on_hub = {};  // nothing: it is a path
};

/// Those that models may have, see Model::stack().
std::vector<std::string> stack_names();

/// The values of `models`, each revision that a pattern fits on its own, without those that name a
/// model once more. What is there is a path, whatever the hub has.
std::vector<NamedModel> named_models(const Arguments& arguments, const Session& session);

/// What rows call them, but for their stacks.
std::vector<std::string> names_of(const std::vector<NamedModel>& models);

/// Whether it names a folder, in which the weights are looked for, and no file of weights.
bool is_folder(const NamedModel& model);

/// `remote`: a model of the hub is read there; one that is here is read here, with a warning.
/// Throws what Checkpoint::open() and Hub throw.
Checkpoint open_checkpoint(const NamedModel& model, bool remote, const Session& session);

}  // namespace attnscope
