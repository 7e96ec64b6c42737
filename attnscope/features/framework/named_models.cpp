#include "attnscope/features/framework/named_models.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>
#include <utility>

#include "attnscope/adapters/open_adapted.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/peft/adapter_files.h"
#include "attnscope/hub/hub_error.h"
#include "attnscope/model/model_names.h"

namespace attnscope {

namespace fs = std::filesystem;

namespace {

HubModel model_on_hub(const HubModelId& id, bool remote, const Session& session) {
  return remote ? session.hub->open_remote(id) : session.hub->fetch(id);
}

/// A repository may also contain the merged model, which is not needed.
HubModel adapter_on_hub(const HubModelId& id, bool remote, const Session& session) {
  HubModelId weights = id;
  weights.part += (id.part.empty() ? "" : "/") + std::string("adapter_model.safetensors");
  try {
    return model_on_hub(weights, remote, session);
  } catch (const HubError&) {
    throw;
  } catch (const Error&) {  // no such file
    return model_on_hub(id, remote, session);
  }
}

}  // namespace

HubModel files_of_adapter(const NamedFiles& files, bool remote, const Session& session) {
  if (files.on_hub) return adapter_on_hub(*files.on_hub, remote, session);
  const fs::path path(files.path);
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return {.folder = path, .weights = ""};
  if (!fs::exists(path, ignored)) {
    throw Error(ErrorKind::io, {.file = files.path,
                                .problem = "no such adapter",
                                .hint = "an adapter on the Hugging Face hub is named ORG/NAME"});
  }
  return {.folder = path.parent_path(), .weights = path.filename().string()};
}

namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// One entry per matching revision.
std::vector<NamedFiles> files_named(const std::string& text, const Session& session) {
  const auto id = exists(text) || session.hub == nullptr ? std::nullopt : parse_hub_model(text);
  if (!id) return {{.path = text}};
  std::vector<NamedFiles> files;
  for (HubModelId& one : session.hub->expand(*id)) {
    files.push_back({.path = one.text(), .on_hub = std::move(one)});
  }
  return files;
}

/// The base that the config of an adapter names; empty: none.
std::string base_of_adapter(const NamedFiles& adapter, bool remote, const Session& session) {
  const HubModel files = files_of_adapter(adapter, remote, session);
  return open_adapter(files.folder, files.weights).base.value_or("");
}

/// Whether the session has a model open under that name, such as one in memory.
bool is_open(const std::string& text, const Arguments& arguments, const Session& session) {
  return session.find_open_model &&
         !session.find_open_model(text, arguments.text("layout")).empty();
}

std::vector<NamedModel> adapted_models(const std::string& base_text,
                                       const std::string& adapter_text, const Session& session) {
  std::vector<NamedModel> models;
  for (const NamedFiles& adapter : files_named(adapter_text, session)) {
    for (const NamedFiles& base : files_named(base_text, session)) {
      const std::string text = base.path + "+" + adapter.path;
      models.push_back({.text = text, .path = text, .base = base, .adapter = adapter});
    }
  }
  return models;
}

std::vector<NamedModel> models_named(const std::string& text, const Arguments& arguments,
                                     const Session& session) {
  const bool remote = arguments.flag("remote");
  if (!exists(text)) {
    for (const std::string& stack : stack_names()) {
      const std::string ending = ":" + stack;
      if (!text.ends_with(ending)) continue;
      auto models = models_named(text.substr(0, text.size() - ending.size()), arguments, session);
      for (NamedModel& model : models) {
        model.text += ending;
        model.stack = stack;
      }
      return models;
    }
    const auto plus = text.rfind('+');
    if (plus != text.npos && plus > 0 && plus + 1 < text.size()) {
      return adapted_models(text.substr(0, plus), text.substr(plus + 1), session);
    }
  }
  std::vector<NamedModel> models;
  for (const NamedFiles& files : files_named(text, session)) {
    if (is_open(files.path, arguments, session) || !is_adapter(files, remote, session)) {
      models.push_back({.text = files.path, .path = files.path, .base = files});
      continue;
    }
    const std::string base = base_of_adapter(files, remote, session);
    for (NamedModel& model : adapted_models(base, files.path, session)) {
      model.base_of_config = true;
      models.push_back(std::move(model));
    }
  }
  return models;
}

std::vector<std::string> parts_of(const NamedFiles& files) {
  if (!files.on_hub) return name_parts(files.path);
  const HubModelId& id = *files.on_hub;
  std::vector<std::string> parts = split(id.repo, '/');
  if (!id.part.empty()) {
    for (std::string& part : split(id.part, '/')) parts.push_back(std::move(part));
  }
  if (id.names_revision) parts.back() += "@" + id.revision;
  return parts;
}

std::string place_of(const NamedFiles& files) {
  std::error_code ignored;
  return files.on_hub ? "hf://" + files.path : fs::weakly_canonical(files.path, ignored).string();
}

/// A short name of each path, equal for equal paths.
std::vector<std::string> short_names(const std::vector<const NamedFiles*>& files) {
  std::vector<std::vector<std::string>> parts;
  std::vector<std::size_t> places;
  for (const NamedFiles* one : files) {
    std::vector<std::string> own = parts_of(*one);
    const auto known = std::find(parts.begin(), parts.end(), own);
    places.push_back(static_cast<std::size_t>(known - parts.begin()));
    if (known == parts.end()) parts.push_back(std::move(own));
  }
  const std::vector<std::string> distinct = distinct_tails(parts);
  std::vector<std::string> names;
  for (const std::size_t place : places) names.push_back(distinct[place]);
  return names;
}

}  // namespace

std::vector<std::string> stack_names() { return {"encoder", "decoder", "cross", "text", "vision"}; }

std::vector<NamedModel> named_models(const Arguments& arguments, const Session& session) {
  std::vector<NamedModel> models;
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (const std::string& text : arguments.texts("models")) {
    for (NamedModel& model : models_named(text, arguments, session)) {
      const std::string adapter = model.adapter ? place_of(*model.adapter) : "";
      if (seen.emplace(place_of(model.base), adapter, model.stack).second) {
        models.push_back(std::move(model));
      }
    }
  }
  return models;
}

std::vector<std::string> names_of(const std::vector<NamedModel>& models) {
  std::vector<const NamedFiles*> bases, adapters;  // once per model, regardless of its stacks
  for (const NamedModel& model : models) {
    bases.push_back(&model.base);
    if (model.adapter) adapters.push_back(&*model.adapter);
  }
  std::vector<std::string> names = short_names(bases);
  const std::vector<std::string> of_adapters = short_names(adapters);
  auto next = of_adapters.begin();
  for (std::size_t index = 0; index < models.size(); ++index) {
    if (models[index].adapter) names[index] += "+" + *next++;
  }
  return names;
}

bool is_folder(const NamedModel& model) {
  std::error_code ignored;
  return model.base.on_hub || fs::is_directory(model.base.path, ignored);
}

bool is_adapter(const NamedFiles& files, bool remote, const Session& session) {
  if (!files.on_hub) {
    std::error_code ignored;
    const fs::path path(files.path);
    if (fs::is_directory(path, ignored)) return has_adapter(CheckpointFolder(path));
    const std::string name = path.filename().string();
    return fs::exists(path, ignored) &&
           name == adapter_weights(CheckpointFolder(path.parent_path()));
  }
  const HubModel found = model_on_hub(*files.on_hub, remote, session);
  return found.folder.has(kAdapterConfigName) && found.weights == adapter_weights(found.folder);
}

Checkpoint open_checkpoint(const NamedModel& model, bool remote, const Session& session) {
  const NamedFiles& base = model.base;
  if (!base.on_hub) {
    Checkpoint checkpoint = Checkpoint::open(fs::path(base.path));
    if (remote && session.on_warning) {
      session.on_warning(
          {.parameter = "remote",
           .problem = "has no effect on '" + verbatim(base.path) + "', which is a local path"});
    }
    return checkpoint;
  }
  const HubModel found = model_on_hub(*base.on_hub, remote, session);
  return Checkpoint::open(found.folder, found.weights);
}

}  // namespace attnscope
