// Interprets MODEL arguments: paths, models of the hub, and BASE+ADAPTER.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/features/framework/command.h"
#include "attnscope/hub/hub.h"
#include "attnscope/hub/model_id.h"

namespace attnscope {

/// A local path, or a name on the hub.
struct NamedFiles {
  std::string path;                       // as written
  std::optional<HubModelId> on_hub = {};  // none: a path
};

struct NamedModel {
  std::string text;                        // as written in an argument
  std::string path;                        // the text without a stack's name
  std::string stack = {};                  // the only requested stack; empty: all
  NamedFiles base = {};                    // the model, without an adapter
  bool base_of_config = false;             // the config of the adapter names the base
  std::optional<NamedFiles> adapter = {};  // PEFT's adapter of the base
};

/// Possible names of stacks, see Model::stack().
std::vector<std::string> stack_names();

/// The values of `models`, expanded to one entry per matching revision, without duplicates. An
/// existing path takes precedence over a hub name, and over BASE+ADAPTER. For an adapter
/// alone, the base is the one that its config names, and its path is empty if the config names
/// none.
std::vector<NamedModel> named_models(const Arguments& arguments, const Session& session);

/// The names of the models in rows, without their stacks.
std::vector<std::string> names_of(const std::vector<NamedModel>& models);

/// Whether the argument names a folder with weights, not a weights file.
bool is_folder(const NamedModel& model);

/// Whether these are the files of an adapter and not of a model. Fetches a model of the hub.
bool is_adapter(const NamedFiles& files, bool remote, const Session& session);

/// The folder and the weights file of an adapter; the file is empty if the folder decides.
HubModel files_of_adapter(const NamedFiles& files, bool remote, const Session& session);

/// Opens the base of the model. `remote`: reads a hub model without downloading it; a local model
/// is read locally, with a warning. Throws what Checkpoint::open() and Hub throw.
Checkpoint open_checkpoint(const NamedModel& model, bool remote, const Session& session);

}  // namespace attnscope
