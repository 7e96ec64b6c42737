// The models that arguments name, opened.
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

/// Opens every model, in the order of named_models(), and names them apart. Of a model of several
/// stacks those that are asked for, as models of their own.
std::vector<Model> open_models(const Arguments& arguments, const Session& session);

/// How an argument would name each of these models, which open_models() gave for the same
/// arguments: "MODEL:encoder" for a stack.
std::vector<std::string> texts_of(const std::vector<Model>& models, const Arguments& arguments,
                                  const Session& session);

/// The session, in which commands find these models open, under the names that they have: those
/// that open_models() gave for the same arguments.
Session with_open_models(const Session& session, const Arguments& arguments,
                         const std::vector<Model>& models);

/// Checkpoints and their names, for work that needs no known architecture.
struct NamedCheckpoints {
  std::vector<std::shared_ptr<const Checkpoint>> checkpoints;
  std::vector<std::string> names;
};
NamedCheckpoints open_checkpoints(const Arguments& arguments, const Session& session);

// What a command's MODEL arguments name: paths, and models of the hub.

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
