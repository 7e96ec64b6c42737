#include "attnscope/checkpoint/sentence_transformers.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/checkpoint/weight_files.h"

namespace attnscope {

namespace fs = std::filesystem;

namespace {

constexpr const char* kModules = "modules.json";
constexpr std::uint64_t kMaxModulesBytes = 1'000'000;

[[noreturn]] void refuse_modules(const CheckpointFolder& files, const std::string& name,
                                 const std::string& problem) {
  throw Error(ErrorKind::format, {.file = files.place_of(name), .problem = problem});
}

struct SentenceModule {
  std::string type, path;
};

std::vector<SentenceModule> read_modules(const CheckpointFolder& files) {
  const nlohmann::json modules =
      parse_python_json(files.read_text(kModules, kMaxModulesBytes), files.place_of(kModules));
  if (!modules.is_array()) refuse_modules(files, kModules, "is not a list of modules");
  std::vector<SentenceModule> out;
  for (const nlohmann::json& module : modules) {
    const auto text = [&](const char* key) {
      const bool has = module.is_object() && module.contains(key) && module[key].is_string();
      if (!has) {
        refuse_modules(files, kModules, "lists a module without a text '" + std::string(key) + "'");
      }
      return module[key].get<std::string>();
    };
    out.push_back({text("type"), text("path")});
    if (!out.back().path.empty() && !is_plain_file_name(out.back().path)) {
      refuse_modules(files, kModules,
                     "names the folder '" + verbatim(out.back().path) +
                         "' of a module, expected a name in this folder");
    }
  }
  return out;
}

struct PoolingName {
  SentencePooling pooling;
  std::string_view flag, mode;  // a key of older files, a value of `pooling_mode`
};
/// In the order in which sentence-transformers concatenates them.
constexpr std::array kPoolingNames = {
    PoolingName{SentencePooling::first, "pooling_mode_cls_token", "cls"},
    PoolingName{SentencePooling::max, "pooling_mode_max_tokens", "max"},
    PoolingName{SentencePooling::mean, "pooling_mode_mean_tokens", "mean"},
    PoolingName{SentencePooling::scaled_sum, "pooling_mode_mean_sqrt_len_tokens",
                "mean_sqrt_len_tokens"},
    PoolingName{SentencePooling::weighted_mean, "pooling_mode_weightedmean_tokens", "weightedmean"},
    PoolingName{SentencePooling::last, "pooling_mode_lasttoken", "lasttoken"}};

/// Throws Error(format) if the file names no pooling.
std::vector<SentencePooling> read_poolings(const CheckpointFolder& files, const std::string& name) {
  const nlohmann::json config =
      parse_python_json(files.read_text(name, kMaxModulesBytes), files.place_of(name));
  if (!config.is_object()) refuse_modules(files, name, "is not a JSON object");
  const nlohmann::json mode = config.value("pooling_mode", nlohmann::json());
  const nlohmann::json modes = mode.is_array() ? mode : nlohmann::json::array({mode});
  std::vector<SentencePooling> out;
  for (const PoolingName& each : kPoolingNames) {
    const auto flag = config.find(each.flag);
    const bool is_set = flag != config.end() && *flag == true;
    const bool is_named = std::find(modes.begin(), modes.end(), each.mode) != modes.end();
    if (is_set || is_named) out.push_back(each.pooling);
  }
  if (out.empty()) refuse_modules(files, name, "names no pooling that sentence-transformers has");
  return out;
}

}  // namespace

fs::path transformer_folder(const fs::path& folder) {
  const CheckpointFolder files(folder);
  if (files.has("config.json") || !files.has(kModules)) return folder;
  for (const SentenceModule& module : read_modules(files)) {
    if (!module.type.ends_with(".Transformer")) continue;
    return module.path.empty() ? folder : folder / module.path;
  }
  refuse_modules(files, kModules, "names no module of type Transformer");
}

std::optional<SentenceModules> sentence_modules(const CheckpointFolder& folder) {
  if (folder.is_remote()) return std::nullopt;
  const fs::path& own = folder.path();
  const CheckpointFolder files(folder.has(kModules) ? own : own.parent_path());
  if (!files.has(kModules)) return std::nullopt;
  SentenceModules out;
  bool is_own = false;
  for (const SentenceModule& module : read_modules(files)) {
    if (module.type.ends_with(".Transformer")) {
      is_own = module.path == (files.path() == own ? "" : own.filename().string());
    } else if (module.type.ends_with(".Pooling")) {
      const std::string name = module.path + "/config.json";
      if (!files.has(name)) return std::nullopt;
      out.poolings = read_poolings(files, name);
    } else if (module.type.ends_with(".Normalize")) {
      out.normalizes = true;
    } else {
      return std::nullopt;
    }
  }
  if (!is_own || out.poolings.empty()) return std::nullopt;
  return out;
}

}  // namespace attnscope
