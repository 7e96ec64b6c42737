#include "attnscope/checkpoint/sentence_transformers.h"

#include <nlohmann/json.hpp>
#include <string>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/checkpoint/checkpoint_folder.h"
#include "attnscope/checkpoint/weight_files.h"

namespace attnscope {

namespace fs = std::filesystem;

namespace {

constexpr const char* kModules = "modules.json";
constexpr std::uint64_t kMaxModulesBytes = 1'000'000;

}  // namespace

fs::path transformer_folder(const fs::path& folder) {
  const CheckpointFolder files(folder);
  if (files.has("config.json") || !files.has(kModules)) return folder;
  const auto refuse = [&](const std::string& problem) {
    throw Error(ErrorKind::format, {.file = files.place_of(kModules), .problem = problem});
  };
  const nlohmann::json modules =
      parse_python_json(files.read_text(kModules, kMaxModulesBytes), files.place_of(kModules));
  if (!modules.is_array()) refuse("is not a list of modules");
  for (const nlohmann::json& module : modules) {
    const auto text = [&](const char* key) {
      const bool has = module.is_object() && module.contains(key) && module[key].is_string();
      if (!has) refuse("lists a module without a text '" + std::string(key) + "'");
      return module[key].get<std::string>();
    };
    if (!text("type").ends_with(".Transformer")) continue;
    const std::string path = text("path");
    if (path.empty()) return folder;
    if (!is_plain_file_name(path)) {
      refuse("names the folder '" + verbatim(path) +
             "' of a module, expected a name in this folder");
    }
    return folder / path;
  }
  refuse("names no module of type Transformer");
  return folder;
}

}  // namespace attnscope
