// Opens the models that the arguments name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/features/framework/command.h"
#include "attnscope/features/framework/named_models.h"
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

}  // namespace attnscope
