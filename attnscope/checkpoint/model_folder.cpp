#include "attnscope/checkpoint/model_folder.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "attnscope/base/error.h"
#include "attnscope/checkpoint/weight_files.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 9> kCompanions = {"config.json",
                                                         "generation_config.json",
                                                         "adapter_config.json",
                                                         "tokenizer.json",
                                                         "tokenizer_config.json",
                                                         "special_tokens_map.json",
                                                         "vocab.json",
                                                         "merges.txt",
                                                         "vocab.txt"};

/// The weights of a folder with these files; nothing where it does not open.
std::optional<std::string> weights_among(const fs::path& folder,
                                         const std::vector<std::string>& names) {
  std::vector<RemoteFile> files;
  for (const std::string& name : names) files.push_back({.name = name});
  try {
    return find_weights(CheckpointFolder(folder, std::move(files)));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::span<const std::string_view> companion_files() { return kCompanions; }

std::vector<std::string> shards_of(const CheckpointFolder& folder, const std::string& weights) {
  if (!is_index(weights)) return {};
  const auto shard_of =
      parse_shard_index(folder.read_text(weights, kMaxIndexBytes), folder.place_of(weights));
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : shard_of) shards.insert(shard);
  return {shards.begin(), shards.end()};
}

std::vector<fs::path> paths_of(const Checkpoint& checkpoint) {
  const CheckpointFolder& folder = checkpoint.folder();
  if (folder.is_remote()) return {};
  std::vector<fs::path> paths = {checkpoint.main_file()};
  for (const MappedFile& file : checkpoint.files()) paths.push_back(file.path());
  for (const std::string& shard : shards_of(folder, checkpoint.main_file().filename().string())) {
    paths.push_back(folder.path() / shard);
  }
  for (const std::string_view name : kCompanions) paths.push_back(folder.path() / name);
  return paths;
}

bool changes_weights(const CheckpointFolder& folder, const std::string& name) {
  std::vector<std::string> names = folder.names_ending("");
  const auto before = weights_among(folder.path(), names);
  names.push_back(name);
  return weights_among(folder.path(), names) != before;
}

std::vector<std::string> weight_endings() {
  std::vector<std::string> endings;
  for (const FileFormat& format : file_formats()) {
    for (const std::string_view ending : format.endings) {
      if (std::find(endings.begin(), endings.end(), ending) != endings.end()) continue;
      endings.emplace_back(ending);
    }
  }
  return endings;
}

}  // namespace attnscope
