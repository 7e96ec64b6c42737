#include "attnscope/features/framework/open_models.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "attnscope/adapters/open_adapted.h"
#include "attnscope/base/text.h"
#include "attnscope/model/expected_roles.h"
#include "attnscope/model/layout/layout_file.h"
#include "attnscope/model/summary.h"

namespace attnscope {
namespace {

void warn(const Checkpoint& checkpoint, const Session& session) {
  if (!session.on_warning) return;
  constexpr std::size_t kShown = 5;  // a wrong index can disagree on every tensor
  const auto& warnings = checkpoint.warnings();
  for (std::size_t index = 0; index < std::min(kShown, warnings.size()); ++index) {
    session.on_warning(warnings[index]);
  }
  if (warnings.size() > kShown) {
    session.on_warning({.problem = "and " + counted(warnings.size() - kShown,
                                                    "more tensor with the same problem")});
  }
}

/// Warns of tensors that the layout file does not name, which the forward pass therefore ignores.
void warn_of_undescribed(const Model& model, const Session& session) {
  if (!session.on_warning || model.spec().layers.empty()) return;
  std::vector<std::string> names;
  for (const TensorSummary& tensor : take_inventory(model, {}).tensors) {
    if (tensor.role == "other") names.push_back("'" + tensor.name + "'");
  }
  if (names.empty()) return;
  constexpr std::size_t kShown = 5;
  const std::size_t count = names.size();
  if (count > kShown) names.resize(kShown);
  session.on_warning({.file = model.spec().source,
                      .problem = verbatim("does not describe " + std::to_string(count) +
                                          (count == 1 ? " tensor: " : " tensors: ") + join(names) +
                                          (count > kShown ? ", …" : ""))});
}

/// Warns of layers in the files beyond the number of layers in the layout file.
void warn_of_more_layers(const Model& model, const Session& session) {
  const std::int64_t last = last_layer_of_files(model);
  if (!session.on_warning || last < model.dimensions().layers) return;
  session.on_warning({.file = model.spec().source,
                      .problem = "describes " + counted(model.dimensions().layers, "layer") +
                                 ", but the weights files contain layers up to " +
                                 std::to_string(last)});
}

/// Warns of matrices that neither analyses nor the forward pass read.
void warn_of_unread_matrices(const Model& model, const Session& session) {
  if (!session.on_warning) return;
  const std::vector<std::string> names = unread_matrices(model);
  if (names.empty()) return;
  session.on_warning(
      {.file = model.checkpoint().main_file().string(),
       .problem = verbatim(counted(names.size(), "matrix", "matrices") + " of " + model.name() +
                           (names.size() == 1 ? " is ignored" : " are ignored") + ", first '" +
                           names.front() + "': " + model.spec().source +
                           " does not describe such a projection")});
}

/// Warns of the other models of a multimodal checkpoint, by the first part of their tensor names.
void warn_of_other_towers(const Model& model, const Session& session) {
  if (!session.on_warning || !model.spec().multimodal) return;
  std::map<std::string, std::size_t> towers;
  for (const TensorSummary& tensor : take_inventory(model, {}).tensors) {
    if (tensor.role != "other") continue;
    const std::size_t start = tensor.name.starts_with("model.") ? 6 : 0;
    ++towers[tensor.name.substr(start, tensor.name.find('.', start) - start)];
  }
  if (towers.empty()) return;
  std::vector<std::string> parts;
  for (const auto& [tower, tensors] : towers) {
    parts.push_back("'" + tower + "' (" + counted(tensors, "tensor") + ")");
  }
  session.on_warning(
      {.file = model.checkpoint().main_file().string(),
       .problem = verbatim("only its language model is analyzed; skipped: " + join(parts))});
}

std::vector<Model> find_open_model(const NamedModel& model, const Arguments& arguments,
                                   const Session& session) {
  if (!session.find_open_model) return {};
  return session.find_open_model(model.text, arguments.text("layout"));
}

std::string with_stack(const std::string& name, const Model& model) {
  return model.stack().empty() ? name : name + ":" + model.stack();
}

/// Throws Error(usage) if the config of an adapter names no base that could be opened.
void check_base(const NamedModel& named) {
  std::error_code ignored;
  const std::string& base = named.base.path;
  if (named.base.on_hub || (!base.empty() && std::filesystem::exists(base, ignored))) return;
  const std::string adapter = verbatim(named.adapter->path);
  throw Error(
      ErrorKind::usage,
      {.parameter = "models",
       .problem = "'" + adapter + "' is an adapter, and its config names " +
                  (base.empty() ? "no base model"
                                : "the base model '" + verbatim(base) + "', which does not exist"),
       .hint = "pass BASE+" + adapter});
}

/// Errors name the adapter whose config names the base.
Checkpoint open_base(const NamedModel& named, bool remote, const Session& session) {
  if (!named.base_of_config) return open_checkpoint(named, remote, session);
  try {
    return open_checkpoint(named, remote, session);
  } catch (const Error& error) {
    ErrorParts parts = error.parts();
    const std::string adapter = verbatim(named.adapter->path);
    parts.problem += "; it is the base model in the config of '" + adapter + "'";
    parts.hint += (parts.hint.empty() ? "pass BASE+" : ", or pass BASE+") + adapter;
    throw Error(error.kind(), std::move(parts));
  }
}

std::vector<Model> open_stacks_of(const NamedModel& named,
                                  const std::optional<std::filesystem::path>& layout,
                                  const std::string& name, bool remote, const Session& session) {
  if (named.base_of_config) check_base(named);
  Checkpoint base = open_base(named, remote, session);
  if (!named.adapter) return Model::open_stacks(std::move(base), layout, name);
  const HubModel files = files_of_adapter(*named.adapter, remote, session);
  std::vector<std::string> notes;
  std::vector<Model> stacks = open_adapted_stacks(
      std::move(base), open_adapter(files.folder, files.weights), layout, name, notes);
  for (const std::string& note : notes) {
    if (session.on_warning) {
      session.on_warning({.file = named.adapter->path, .problem = verbatim(note)});
    }
  }
  return stacks;
}

/// Opens all stacks of a model.
std::vector<Model> open_named(const NamedModel& named, const std::string& name,
                              const Arguments& arguments, const Session& session) {
  std::vector<Model> open = find_open_model(named, arguments, session);
  if (!open.empty()) {
    if (session.keeps_names) return open;
    for (Model& model : open) model = model.named(with_stack(name, model));
    return open;
  }
  std::optional<std::filesystem::path> layout;
  if (arguments.given("layout")) layout = arguments.text("layout");
  open = open_stacks_of(named, layout, name, arguments.flag("remote"), session);
  warn(open.front().checkpoint(), session);
  if (layout) {
    warn_of_undescribed(open.front(), session);
    warn_of_more_layers(open.front(), session);
  } else {
    for (const Model& model : open) warn_of_unread_matrices(model, session);
  }
  warn_of_other_towers(open.front(), session);
  return open;
}

/// Keeps only the stack with that name; all if it is empty.
void choose_stack(const std::string& stack, const NamedModel& named, std::vector<Model>& stacks) {
  if (stack.empty()) return;
  std::vector<std::string> names;
  for (const Model& model : stacks) names.push_back(model.stack());
  std::erase_if(stacks, [&](const Model& model) { return model.stack() != stack; });
  if (!stacks.empty()) return;
  const bool single = names.size() == 1 && names.front().empty();
  throw Error(
      ErrorKind::usage,
      {.parameter = "stack",
       .problem = verbatim("'" + named.path + "' has no stack '" + stack + "': " +
                           (single ? "it has a single, unnamed stack" : join(names, ", ")))});
}

}  // namespace

std::vector<Model> open_models(const Arguments& arguments, const Session& session) {
  const std::vector<NamedModel> named = named_models(arguments, session);
  const std::vector<std::string> names = names_of(named);
  std::vector<Model> opened;
  for (std::size_t index = 0; index < named.size(); ++index) {
    std::vector<Model> stacks = open_named(named[index], names[index], arguments, session);
    session.files->add_model(stacks.front().checkpoint(), stacks.front().name(),
                             is_folder(named[index]));
    choose_stack(named[index].stack, named[index], stacks);
    choose_stack(arguments.text("stack"), named[index], stacks);
    for (Model& model : stacks) opened.push_back(std::move(model));
  }
  return opened;
}

std::vector<std::string> texts_of(const std::vector<Model>& models, const Arguments& arguments,
                                  const Session& session) {
  const std::vector<NamedModel> named = named_models(arguments, session);
  const std::vector<std::string> names = names_of(named);
  std::vector<std::string> texts;
  for (const Model& model : models) {
    for (std::size_t index = 0; index < named.size(); ++index) {
      const NamedModel& of = named[index];
      if (with_stack(names[index], model) != model.name()) continue;
      if (!of.stack.empty() && of.stack != model.stack()) continue;
      texts.push_back(with_stack(of.path, model));
      break;
    }
  }
  return texts;
}

Session with_open_models(const Session& session, const Arguments& arguments,
                         const std::vector<Model>& models) {
  Session out = session;
  out.keeps_names = true;
  out.find_open_model = [texts = texts_of(models, arguments, session),
                         layout = arguments.text("layout"),
                         models](const std::string& model, const std::string& wanted) {
    std::vector<Model> found;
    if (wanted != layout) return found;
    for (std::size_t index = 0; index < models.size(); ++index) {
      const std::string& text = texts[index];
      if (text == model || text == with_stack(model, models[index])) found.push_back(models[index]);
    }
    return found;
  };
  return out;
}

NamedCheckpoints open_checkpoints(const Arguments& arguments, const Session& session) {
  const std::vector<NamedModel> named = named_models(arguments, session);
  NamedCheckpoints opened{.names = names_of(named)};
  for (std::size_t index = 0; index < named.size(); ++index) {
    const auto open = find_open_model(named[index], arguments, session);
    if (!open.empty()) {
      opened.checkpoints.push_back(open.front().shared_checkpoint());
    } else {
      if (named[index].adapter) {
        const std::vector<Model> stacks =
            open_named(named[index], opened.names[index], arguments, session);
        opened.checkpoints.push_back(stacks.front().shared_checkpoint());
        session.files->add_model(*opened.checkpoints.back(), opened.names[index],
                                 is_folder(named[index]));
        continue;
      }
      Checkpoint checkpoint = open_checkpoint(named[index], arguments.flag("remote"), session);
      compose_by_config(checkpoint);
      warn(checkpoint, session);
      opened.checkpoints.push_back(std::make_shared<const Checkpoint>(std::move(checkpoint)));
    }
    session.files->add_model(*opened.checkpoints.back(), opened.names[index],
                             is_folder(named[index]));
  }
  return opened;
}

}  // namespace attnscope
