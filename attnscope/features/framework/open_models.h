// Opens the models that the arguments name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/features/framework/command.h"
#include "attnscope/hub/model_id.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// Opens every model, in the order of named_models(), with distinct names. Of a model with several
/// stacks, the requested stacks are returned as separate models.
std::vector<Model> open_models(const Arguments& arguments, const Session& session);

/// The argument texts for these models, which open_models() returned for the same arguments:
/// "MODEL:encoder" for a stack.
std::vector<std::string> texts_of(const std::vector<Model>& models, const Arguments& arguments,
                                  const Session& session);

/// A session in which commands find these models already open under their names. The models come
/// from open_models() with the same arguments.
Session with_open_models(const Session& session, const Arguments& arguments,
                         const std::vector<Model>& models);

/// Checkpoints and their names, for analyses that do not need a supported architecture.
struct NamedCheckpoints {
  std::vector<std::shared_ptr<const Checkpoint>> checkpoints;
  std::vector<std::string> names;
};
NamedCheckpoints open_checkpoints(const Arguments& arguments, const Session& session);

// Interprets MODEL arguments: paths, and models of the hub.

struct NamedModel {
  std::string text;                       // as written in an argument
  std::string path;                       // the text without a stack's name
  std::string stack = {};                 // the only requested stack; empty: all
  std::optional<HubModelId> on_hub = {};  // none: a path
};

/// Possible names of stacks, see Model::stack().
std::vector<std::string> stack_names();

/// The values of `models`, expanded to one entry per matching revision, without duplicates. An
/// existing path takes precedence over a hub name.
std::vector<NamedModel> named_models(const Arguments& arguments, const Session& session);

/// The names of the models in rows, without their stacks.
std::vector<std::string> names_of(const std::vector<NamedModel>& models);

/// Whether the argument names a folder with weights, not a weights file.
bool is_folder(const NamedModel& model);

/// `remote`: reads a hub model without downloading it; a local model is read locally, with a
/// warning. Throws what Checkpoint::open() and Hub throw.
Checkpoint open_checkpoint(const NamedModel& model, bool remote, const Session& session);

}  // namespace attnscope
