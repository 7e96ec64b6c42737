// The models that arguments name, opened.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attnscope/commands/command.h"
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

}  // namespace attnscope
