#include "attnscope/commands/named_models.h"

#include <filesystem>
#include <set>

#include "attnscope/core/text.h"
#include "attnscope/hub/hub.h"
#include "attnscope/model/model_names.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

std::vector<NamedModel> models_named(const std::string& text, const Session& session) {
  std::error_code ignored;
  if (session.hub == nullptr || fs::exists(text, ignored)) return {{.text = text}};
  const auto id = parse_hub_model(text);
  if (!id) return {{.text = text}};
  std::vector<NamedModel> models;
  for (HubModelId& one : session.hub->expand(*id)) {
    models.push_back({.text = one.text(), .on_hub = std::move(one)});
  }
  return models;
}

std::vector<std::string> parts_of(const NamedModel& model) {
  if (!model.on_hub) return name_parts(model.text);
  const HubModelId& id = *model.on_hub;
  std::vector<std::string> parts = split(id.repo, '/');
  if (!id.part.empty()) {
    for (std::string& part : split(id.part, '/')) parts.push_back(std::move(part));
  }
  if (id.names_revision) parts.back() += "@" + id.revision;
  return parts;
}

}  // namespace

std::vector<NamedModel> named_models(const Arguments& arguments, const Session& session) {
  std::vector<NamedModel> models;
  std::set<std::string> seen;
  for (const std::string& text : arguments.texts("models")) {
    for (NamedModel& model : models_named(text, session)) {
      std::error_code ignored;
      const std::string place =
          model.on_hub ? "hf://" + model.text : fs::weakly_canonical(model.text, ignored).string();
      if (seen.insert(place).second) models.push_back(std::move(model));
    }
  }
  return models;
}

std::vector<std::string> names_of(const std::vector<NamedModel>& models) {
  std::vector<std::vector<std::string>> parts;
  for (const NamedModel& model : models) parts.push_back(parts_of(model));
  return distinct_tails(parts);
}

bool is_folder(const NamedModel& model) {
  std::error_code ignored;
  return model.on_hub || fs::is_directory(model.text, ignored);
}

Checkpoint open_checkpoint(const NamedModel& model, bool remote, const Session& session) {
  if (!model.on_hub) {
    Checkpoint checkpoint = Checkpoint::open(fs::path(model.text));
    if (remote && session.on_warning) {
      session.on_warning(
          {.parameter = "remote",
           .problem = "has no effect on '" + verbatim(model.text) + "', which is on this machine"});
    }
    return checkpoint;
  }
  const HubModel found =
      remote ? session.hub->open_remote(*model.on_hub) : session.hub->fetch(*model.on_hub);
  return Checkpoint::open(found.folder, found.weights);
}

}  // namespace attnscope
