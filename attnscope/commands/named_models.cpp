#include "attnscope/commands/named_models.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "attnscope/core/text.h"
#include "attnscope/hub/hub.h"
#include "attnscope/model/model_names.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

std::vector<NamedModel> models_named(const std::string& text, const Session& session) {
  std::error_code ignored;
  if (fs::exists(text, ignored)) return {{.text = text, .path = text}};
  for (const std::string& stack : stack_names()) {
    const std::string ending = ":" + stack;
    if (!text.ends_with(ending)) continue;
    auto models = models_named(text.substr(0, text.size() - ending.size()), session);
    for (NamedModel& model : models) {
      model.text += ending;
      model.stack = stack;
    }
    return models;
  }
  const auto id = session.hub == nullptr ? std::nullopt : parse_hub_model(text);
  if (!id) return {{.text = text, .path = text}};
  std::vector<NamedModel> models;
  for (HubModelId& one : session.hub->expand(*id)) {
    models.push_back({.text = one.text(), .path = one.text(), .on_hub = std::move(one)});
  }
  return models;
}

std::vector<std::string> parts_of(const NamedModel& model) {
  if (!model.on_hub) return name_parts(model.path);
  const HubModelId& id = *model.on_hub;
  std::vector<std::string> parts = split(id.repo, '/');
  if (!id.part.empty()) {
    for (std::string& part : split(id.part, '/')) parts.push_back(std::move(part));
  }
  if (id.names_revision) parts.back() += "@" + id.revision;
  return parts;
}

}  // namespace

std::vector<std::string> stack_names() { return {"encoder", "decoder", "cross", "text", "vision"}; }

std::vector<NamedModel> named_models(const Arguments& arguments, const Session& session) {
  std::vector<NamedModel> models;
  std::set<std::pair<std::string, std::string>> seen;
  for (const std::string& text : arguments.texts("models")) {
    for (NamedModel& model : models_named(text, session)) {
      std::error_code ignored;
      const std::string place =
          model.on_hub ? "hf://" + model.path : fs::weakly_canonical(model.path, ignored).string();
      if (seen.emplace(place, model.stack).second) models.push_back(std::move(model));
    }
  }
  return models;
}

std::vector<std::string> names_of(const std::vector<NamedModel>& models) {
  std::vector<std::vector<std::string>> parts;  // of each model once, whatever its stacks
  std::vector<std::size_t> places;
  for (const NamedModel& model : models) {
    std::vector<std::string> own = parts_of(model);
    const auto known = std::find(parts.begin(), parts.end(), own);
    places.push_back(static_cast<std::size_t>(known - parts.begin()));
    if (known == parts.end()) parts.push_back(std::move(own));
  }
  const std::vector<std::string> distinct = distinct_tails(parts);
  std::vector<std::string> names;
  for (const std::size_t place : places) names.push_back(distinct[place]);
  return names;
}

bool is_folder(const NamedModel& model) {
  std::error_code ignored;
  return model.on_hub || fs::is_directory(model.path, ignored);
}

Checkpoint open_checkpoint(const NamedModel& model, bool remote, const Session& session) {
  if (!model.on_hub) {
    Checkpoint checkpoint = Checkpoint::open(fs::path(model.path));
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
