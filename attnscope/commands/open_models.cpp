#include "attnscope/commands/open_models.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "attnscope/commands/named_models.h"
#include "attnscope/core/text.h"
#include "attnscope/core/wording.h"
#include "attnscope/model/inventory.h"

namespace attnscope {
namespace {

void warn(const Checkpoint& checkpoint, const Session& session) {
  if (!session.on_warning) return;
  constexpr std::size_t kShown = 5;  // a wrong index can disagree about every tensor
  const auto& warnings = checkpoint.warnings();
  for (std::size_t index = 0; index < std::min(kShown, warnings.size()); ++index) {
    session.on_warning(warnings[index]);
  }
  if (warnings.size() > kShown) {
    session.on_warning({.problem = "and " + counted(warnings.size() - kShown, "more such tensor")});
  }
}

/// Tensors that a forward pass leaves alone, since the layout file names none of them.
void warn_of_undescribed(const Model& model, const Session& session) {
  if (!session.on_warning || model.spec().layers.empty()) return;
  std::vector<std::string> names;
  for (const TensorFacts& tensor : take_inventory(model, {}).tensors) {
    if (tensor.role == "other") names.push_back("'" + tensor.name + "'");
  }
  if (names.empty()) return;
  constexpr std::size_t kShown = 5;
  const std::size_t count = names.size();
  if (count > kShown) names.resize(kShown);
  session.on_warning({.file = model.spec().source,
                      .problem = verbatim("says nothing of " + std::to_string(count) +
                                          (count == 1 ? " tensor: " : " tensors: ") + join(names) +
                                          (count > kShown ? ", …" : ""))});
}

/// The other models of a multimodal checkpoint, by the first part of their tensors' names.
void warn_of_other_towers(const Model& model, const Session& session) {
  if (!session.on_warning || !model.spec().multimodal) return;
  std::map<std::string, std::size_t> towers;
  for (const TensorFacts& tensor : take_inventory(model, {}).tensors) {
    if (tensor.role != "other") continue;
    const std::size_t start = tensor.name.starts_with("model.") ? 6 : 0;
    ++towers[tensor.name.substr(start, tensor.name.find('.', start) - start)];
  }
  if (towers.empty()) return;
  std::vector<std::string> parts;
  for (const auto& [tower, tensors] : towers) {
    parts.push_back("'" + tower + "' (" + counted(tensors, "tensor") + ")");
  }
  session.on_warning({.file = model.checkpoint().main_file().string(),
                      .problem = verbatim("its language model is read, and not " + join(parts))});
}

std::optional<Model> find_open_model(const NamedModel& model, const Arguments& arguments,
                                     const Session& session) {
  if (!session.find_open_model) return std::nullopt;
  return session.find_open_model(model.text, arguments.text("layout"));
}

}  // namespace

std::vector<Model> open_models(const Arguments& arguments, const Session& session) {
  const std::vector<NamedModel> named = named_models(arguments, session);
  const std::vector<std::string> names = names_of(named);
  std::optional<std::filesystem::path> layout;
  if (arguments.given("layout")) layout = arguments.text("layout");
  std::vector<Model> opened;
  for (std::size_t index = 0; index < named.size(); ++index) {
    if (const auto open = find_open_model(named[index], arguments, session)) {
      opened.push_back(session.keeps_names ? *open : open->named(names[index]));
    } else {
      opened.push_back(Model::open(open_checkpoint(named[index], arguments.flag("remote"), session),
                                   layout, names[index]));
      warn(opened.back().checkpoint(), session);
      if (layout) warn_of_undescribed(opened.back(), session);
      warn_of_other_towers(opened.back(), session);
    }
    session.files->add_model(opened.back().checkpoint(), opened.back().name(),
                             is_folder(named[index]));
  }
  return opened;
}

Session with_open_models(const Session& session, const Arguments& arguments,
                         const std::vector<Model>& models) {
  Session out = session;
  out.keeps_names = true;
  out.find_open_model =
      [named = named_models(arguments, session), layout = arguments.text("layout"), models](
          const std::string& model, const std::string& wanted) -> std::optional<Model> {
    if (wanted != layout) return std::nullopt;
    for (std::size_t index = 0; index < named.size(); ++index) {
      if (named[index].text == model) return models[index];
    }
    return std::nullopt;
  };
  return out;
}

NamedCheckpoints open_checkpoints(const Arguments& arguments, const Session& session) {
  const std::vector<NamedModel> named = named_models(arguments, session);
  NamedCheckpoints opened{.names = names_of(named)};
  for (std::size_t index = 0; index < named.size(); ++index) {
    if (const auto open = find_open_model(named[index], arguments, session)) {
      opened.checkpoints.push_back(open->shared_checkpoint());
    } else {
      Checkpoint checkpoint = open_checkpoint(named[index], arguments.flag("remote"), session);
      compose_as_config_says(checkpoint);
      warn(checkpoint, session);
      opened.checkpoints.push_back(std::make_shared<const Checkpoint>(std::move(checkpoint)));
    }
    session.files->add_model(*opened.checkpoints.back(), opened.names[index],
                             is_folder(named[index]));
  }
  return opened;
}

}  // namespace attnscope
