#include "attnscope/checkpoint/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <system_error>

#include "attnscope/checkpoint/shard_index.h"
#include "attnscope/core/error.h"
#include "attnscope/core/text.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexEnding = ".safetensors.index.json";
constexpr std::string_view kWeightsEnding = ".safetensors";
constexpr std::uint64_t kMaxIndexBytes = 100'000'000;

bool ends_with(const fs::path& path, std::string_view ending) {
  return path.filename().string().ends_with(ending);
}

[[noreturn]] void refuse(ErrorKind kind, const fs::path& file, std::string problem,
                         std::string hint = "") {
  throw Error(kind,
              {.file = file.string(), .problem = std::move(problem), .hint = std::move(hint)});
}

/// False also where the name cannot even be looked up: names come from files and may be too long.
bool file_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Files of `folder` with one of the endings, sorted by name.
std::vector<fs::path> files_ending(const fs::path& folder,
                                   std::initializer_list<std::string_view> endings) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    for (const std::string_view ending : endings) {
      if (ends_with(entry->path(), ending)) found.push_back(entry->path());
    }
  }
  if (error) refuse(ErrorKind::io, folder, "cannot list: " + error.message());
  std::sort(found.begin(), found.end());
  return found;
}

/// Of the root of a Hugging Face cache folder, models--ORG--NAME: the revision that `main` names,
/// else the first.
std::optional<fs::path> find_snapshot(const fs::path& folder) {
  const fs::path snapshots = folder / "snapshots";
  std::error_code ignored;
  if (!fs::is_directory(snapshots, ignored)) return std::nullopt;
  const auto found = files_ending(snapshots, {""});
  if (found.empty()) return std::nullopt;
  const fs::path main = folder / "refs" / "main";
  if (fs::is_regular_file(main, ignored)) {
    constexpr std::uint64_t kMaxRevisionBytes = 1000;
    const fs::path named = snapshots / split(read_text_file(main, kMaxRevisionBytes), '\n')[0];
    if (std::find(found.begin(), found.end(), named) != found.end()) return named;
  }
  return found.front();
}

/// What git keeps in place of a large file until `git lfs` fetches it.
bool is_lfs_pointer(std::span<const std::byte> bytes) {
  constexpr std::string_view kStart = "version https://git-lfs";
  return bytes.size() > kStart.size() &&
         std::memcmp(bytes.data(), kStart.data(), kStart.size()) == 0;
}

/// The weights of a folder, as transformers prefers them: one file, then an index, then the only
/// .safetensors file of whatever name.
fs::path find_weights(const fs::path& folder) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
    if (file_exists(folder / name)) return folder / name;
  }
  for (const std::string_view ending : {kIndexEnding, kWeightsEnding}) {
    const auto found = files_ending(folder, {ending});
    if (found.size() == 1) return found.front();
    if (found.size() > 1) {
      refuse(ErrorKind::usage, folder,
             "holds several " + std::string(ending) + " files and no index", "name one of them");
    }
  }
  const auto others = files_ending(folder, {".bin", ".pt", ".pth", ".gguf", ".h5", ".msgpack"});
  if (!others.empty()) {
    refuse(ErrorKind::unsupported, folder,
           "holds only " + verbatim(others.front().filename().string()) +
               ", a format that is not read yet",
           "convert it to safetensors, for example with transformers: from_pretrained, then "
           "save_pretrained");
  }
  if (const auto snapshot = find_snapshot(folder)) {
    refuse(ErrorKind::io, folder,
           "is the folder of a model in a cache, which keeps its files in "
           "snapshots/REVISION",
           "name " + verbatim(snapshot->string()));
  }
  refuse(ErrorKind::io, folder, "holds no weights",
         "expected model.safetensors or model.safetensors.index.json");
}

}  // namespace

Checkpoint Checkpoint::open(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    refuse(ErrorKind::io, path,
           "no such file or folder; download the model first (for example: hf download "
           "ORG/NAME --local-dir FOLDER), then name its folder");
  }
  Checkpoint checkpoint;
  const bool directory = fs::is_directory(status);
  checkpoint.main_file_ = directory ? find_weights(path) : path;
  checkpoint.folder_ = directory ? path : path.parent_path();
  const fs::path& weights = checkpoint.main_file_;
  if (ends_with(weights, kIndexEnding)) {
    checkpoint.open_sharded(weights);
  } else if (ends_with(weights, kWeightsEnding)) {
    checkpoint.add_file(weights);
    checkpoint.index_names({});
  } else {
    refuse(ErrorKind::unsupported, weights, "not a format that is read",
           "expected a .safetensors file, a .safetensors.index.json or a folder with one");
  }
  return checkpoint;
}

void Checkpoint::add_file(const fs::path& path) {
  MappedFile file(path);
  if (is_lfs_pointer(file.bytes())) {
    refuse(ErrorKind::format, path, "is a git-lfs pointer and not the weights",
           "fetch them: git lfs pull");
  }
  SafetensorsFile parsed;
  try {
    parsed = parse_safetensors(file.bytes(), path.string());
  } catch (const Error&) {
    file.check_intact();  // a cut file is the likelier truth than what its zeros look like
    throw;
  }
  file.check_intact();
  for (NamedTensor& tensor : parsed.tensors) {
    tensors_.push_back({std::move(tensor.name), std::move(tensor.view), files_.size()});
  }
  // Writers that drop the second name of a shared tensor leave it here as alias → kept name.
  for (auto& [key, text] : parsed.metadata) aliases_.emplace(key, text);
  files_.push_back(std::move(file));
}

void Checkpoint::open_sharded(const fs::path& index_path) {
  const auto shard_of =
      parse_shard_index(read_text_file(index_path, kMaxIndexBytes), index_path.string());
  std::map<std::string, std::size_t> shards;  // and how many tensors the index puts there
  for (const auto& [tensor, shard] : shard_of) ++shards[shard];
  for (const auto& [shard, count] : shards) {
    if (file_exists(folder_ / shard)) {
      add_file(folder_ / shard);
    } else {
      absent_shards_.insert(shard);
    }
  }
  // A part of a checkpoint is enough for what it holds.
  const std::string named = "this shard is named by " + verbatim(index_path.filename().string());
  if (files_.empty()) {
    refuse(ErrorKind::io, folder_ / shards.begin()->first, named + " but is missing",
           "download it");
  }
  for (const std::string& shard : absent_shards_) {
    const std::size_t count = shards.at(shard);
    warnings_.push_back({.file = (folder_ / shard).string(),
                         .problem = named + " but is missing, and with it " +
                                    std::to_string(count) + (count == 1 ? " tensor" : " tensors"),
                         .hint = "download it"});
  }

  index_names(shard_of);

  for (const CheckpointTensor& tensor : tensors_) {
    const auto listed = shard_of.find(tensor.name);
    const std::string held_by = files_[tensor.file].path().filename().string();
    if (listed == shard_of.end()) {
      warn(tensor, "is not in the index");
    } else if (listed->second != held_by) {
      warn(tensor, "is listed in " + listed->second + " by the index");
    }
  }
  for (const auto& [tensor, shard] : shard_of) {
    if (find(tensor) != nullptr) continue;
    missing_.emplace(tensor, shard);
    if (absent_shards_.count(shard) > 0) continue;  // said once above
    warnings_.push_back({.file = index_path.string(),
                         .tensor = tensor,
                         .problem = verbatim("tensor '" + tensor + "' is listed in " + shard +
                                             ", which lacks it")});
  }
}

void Checkpoint::index_names(const std::map<std::string, std::string>& shard_of) {
  const auto file_name = [&](const CheckpointTensor& tensor) {
    return files_[tensor.file].path().filename().string();
  };
  // Of two tensors of one name the index decides which counts; else the first.
  std::map<std::string_view, std::size_t> chosen;
  for (std::size_t index = 0; index < tensors_.size(); ++index) {
    const auto [position, fresh] = chosen.emplace(tensors_[index].name, index);
    if (fresh) continue;
    const auto listed = shard_of.find(tensors_[index].name);
    if (listed != shard_of.end() && listed->second == file_name(tensors_[index])) {
      position->second = index;
    }
    warn(tensors_[index], "is also in an earlier shard; the one in " +
                              file_name(tensors_[position->second]) + " is used");
  }
  std::vector<CheckpointTensor> kept;
  for (std::size_t index = 0; index < tensors_.size(); ++index) {
    if (chosen.at(tensors_[index].name) == index) kept.push_back(tensors_[index]);
  }
  tensors_ = std::move(kept);
  for (std::size_t index = 0; index < tensors_.size(); ++index) {
    by_name_.emplace(tensors_[index].name, index);
  }
  // Metadata holds other things too ("format": "pt"): an alias is what names a tensor, once.
  std::erase_if(aliases_, [&](const auto& alias) {
    return by_name_.count(alias.first) > 0 || by_name_.count(alias.second) == 0;
  });
}

const CheckpointTensor* Checkpoint::find(std::string_view name) const {
  auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    const auto alias = aliases_.find(name);
    if (alias == aliases_.end()) return nullptr;
    found = by_name_.find(alias->second);
  }
  return &tensors_[found->second];
}

std::string Checkpoint::missing_note(std::string_view name) const {
  const auto found = missing_.find(name);
  if (found == missing_.end()) return "";
  return ": the index puts it in " + found->second +
         (absent_shards_.count(found->second) > 0 ? ", which is missing" : ", which lacks it");
}

std::uint64_t Checkpoint::file_bytes() const {
  std::uint64_t total = 0;
  for (const MappedFile& file : files_) total += file.bytes().size();
  return total;
}

void Checkpoint::warn(const CheckpointTensor& tensor, const std::string& problem) {
  warnings_.push_back(parts_of(tensor, verbatim("tensor '" + tensor.name + "' " + problem)));
}

ErrorParts Checkpoint::parts_of(const CheckpointTensor& tensor, std::string problem,
                                std::string hint) const {
  return {.file = files_[tensor.file].path().string(),
          .tensor = tensor.name,
          .problem = std::move(problem),
          .hint = std::move(hint)};
}

std::string Checkpoint::place_of(const CheckpointTensor& tensor) const {
  return files_[tensor.file].path().string() + ": tensor '" + tensor.name + "'";
}

}  // namespace attnscope
