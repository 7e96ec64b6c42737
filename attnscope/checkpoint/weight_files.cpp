#include "attnscope/checkpoint/weight_files.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/other_folders.h"
#include "attnscope/checkpoint/pytorch/distributed.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexEnding = ".index.json";
constexpr const char* kConfig = "config.json";

constexpr std::array<std::string_view, 20> kCompanions = {"config.json",
                                                          "bert_config.json",
                                                          "params.json",
                                                          "model_config.yaml",
                                                          "open_clip_config.json",
                                                          "generation_config.json",
                                                          "adapter_config.json",
                                                          "tokenizer.json",
                                                          "tokenizer_config.json",
                                                          "special_tokens_map.json",
                                                          "chat_template.jinja",
                                                          "chat_template.json",
                                                          "vocab.json",
                                                          "merges.txt",
                                                          "vocab.txt",
                                                          "tokenizer.model",
                                                          "spiece.model",
                                                          "sentencepiece.bpe.model",
                                                          "spm.model",
                                                          "tiktoken.model"};

/// Files that training programs leave next to the weights, in the same format.
constexpr std::array<std::string_view, 4> kOfTraining = {"training_args", "optimizer", "scheduler",
                                                         "rng_state"};

/// Files of a checkpoint that is split for model parallelism, and what marks their tensors.
constexpr std::string_view kFirstPart = "consolidated.00", kPartMark = "@part";
constexpr std::size_t kMaxParts = 100;

[[noreturn]] void refuse_weights(ErrorKind kind, const fs::path& file, std::string problem,
                                 std::string hint = "") {
  throw Error(kind,
              {.file = file.string(), .problem = std::move(problem), .hint = std::move(hint)});
}

bool is_of_training(std::string_view name) {
  return std::any_of(kOfTraining.begin(), kOfTraining.end(),
                     [&](std::string_view start) { return name.starts_with(start); });
}

bool has_ending(const FileFormat& format, std::string_view name) {
  return std::any_of(format.endings.begin(), format.endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

constexpr std::size_t kInspectedBytes = 512;  // bytes at the start of a file

/// Whether the file begins like files of the format. True if this cannot be checked, because the
/// file is remote.
bool may_be(const FileFormat& format, const CheckpointFolder& folder, const std::string& name) {
  if (format.recognizes == nullptr || folder.is_remote()) return true;
  try {
    const MappedFile file = folder.open(name);
    return format.recognizes(file.bytes().first(std::min(kInspectedBytes, file.bytes().size())));
  } catch (const Error&) {
    return true;
  }
}

/// Returns the file that is meant; nothing if there are none. The parts of one checkpoint count as
/// one file.
std::optional<std::string> only_one(const CheckpointFolder& folder, const FileFormat& format,
                                    std::vector<std::string> names, const std::string& what) {
  if (format.parts != nullptr) {
    std::erase_if(names, [&](const std::string& name) {
      return format.parts(name).front().string() != name;
    });
  }
  // If there are several, skips files that only share the extension: a token shard is a .bin file,
  // too.
  const auto not_weights = [&](const std::string& name) { return !may_be(format, folder, name); };
  if (names.size() > 1 && !std::all_of(names.begin(), names.end(), not_weights)) {
    std::erase_if(names, not_weights);
  }
  const auto first = std::find_if(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with(kFirstPart);
  });
  if (first != names.end() && later_parts(folder, *first).size() + 1 == names.size()) return *first;
  if (names.size() > 1) {
    refuse_weights(ErrorKind::usage, folder.path(), "contains several " + what, "pass one of them");
  }
  if (names.empty()) return std::nullopt;
  return names.front();
}

std::optional<std::string> weights_of_format(const CheckpointFolder& folder,
                                             const FileFormat& format) {
  const std::string usual(format.usual);
  for (const std::string& name : {usual, usual + std::string(kIndexEnding)}) {
    if (!usual.empty() && folder.has(name)) return name;
  }
  std::vector<std::string> indexes, files;
  for (const std::string_view ending : format.endings) {
    const auto append = [&](std::vector<std::string>& names, const std::string& found) {
      for (std::string& name : folder.names_ending(found)) {
        if (!is_of_training(name)) names.push_back(std::move(name));
      }
    };
    append(indexes, std::string(ending) + std::string(kIndexEnding));
    append(files, std::string(ending));
  }
  const std::string ending(format.endings.front());
  if (auto index = only_one(folder, format, std::move(indexes),
                            ending + std::string(kIndexEnding) + " files and no index")) {
    return index;
  }
  return only_one(folder, format, std::move(files), ending + " files and no index");
}

/// Returns the snapshot of a Hugging Face cache folder (models--ORG--NAME): the revision of `main`,
/// otherwise the first one.
std::optional<fs::path> find_snapshot(const fs::path& folder) {
  const fs::path snapshots = folder / "snapshots";
  std::error_code ignored;
  if (!fs::is_directory(snapshots, ignored)) return std::nullopt;
  const auto found = CheckpointFolder(snapshots).names_ending("");
  if (found.empty()) return std::nullopt;
  const fs::path main = folder / "refs" / "main";
  if (fs::is_regular_file(main, ignored)) {
    constexpr std::uint64_t kMaxRevisionBytes = 1000;
    const std::string named = split(read_text_file(main, kMaxRevisionBytes), '\n')[0];
    if (std::find(found.begin(), found.end(), named) != found.end()) return snapshots / named;
  }
  return snapshots / found.front();
}

/// The text that git stores instead of a large file until `git lfs` fetches it.
bool is_lfs_pointer(std::span<const std::byte> bytes) {
  constexpr std::string_view kStart = "version https://git-lfs";
  return bytes.size() > kStart.size() &&
         std::memcmp(bytes.data(), kStart.data(), kStart.size()) == 0;
}

/// Formats of llama.cpp and whisper.cpp before GGUF: "ggml", "ggmf", "ggjt", "ggla" as a number.
bool is_ggml(std::span<const std::byte> bytes) {
  constexpr std::array<std::string_view, 4> kMagics = {"lmgg", "fmgg", "tjgg", "algg"};
  return bytes.size() > 4 && std::any_of(kMagics.begin(), kMagics.end(), [&](auto magic) {
           return std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
         });
}

}  // namespace

std::vector<std::string> later_parts(const CheckpointFolder& folder, const std::string& weights) {
  std::vector<std::string> parts;
  const std::size_t number = weights.find(kFirstPart);
  if (number != 0) return parts;
  const std::string ending = weights.substr(kFirstPart.size());
  for (std::size_t part = 1; part < kMaxParts; ++part) {
    const std::string digits = (part < 10 ? "0" : "") + std::to_string(part);
    std::string name = "consolidated." + digits + ending;
    if (!folder.has(name)) break;
    parts.push_back(std::move(name));
  }
  return parts;
}

std::string part_name(std::string_view tensor, std::size_t part) {
  return std::string(tensor) + std::string(kPartMark) + std::to_string(part);
}

bool is_later_part(std::string_view tensor) {
  return tensor.find(kPartMark) != std::string_view::npos;
}

void bring_google_config(CheckpointFolder& folder) {
  constexpr const char* kGoogle = "bert_config.json";
  constexpr std::uint64_t kMaxConfigBytes = 10'000'000;
  if (folder.has(kConfig) || !folder.has(kGoogle)) return;
  const std::string place = folder.place_of(kGoogle);
  const auto make = [folder, place] {
    nlohmann::json config = parse_python_json(folder.read_text(kGoogle, kMaxConfigBytes), place);
    if (config.is_object()) config.emplace("model_type", "bert");
    return python_json_text(config);
  };
  folder.bring_text(kConfig, make, place);
}

bool is_index(const fs::path& file) { return file.filename().string().ends_with(kIndexEnding); }

std::string find_weights(const CheckpointFolder& folder) {
  std::optional<std::string> doubtful;
  for (const FileFormat& format : file_formats()) {
    auto found = weights_of_format(folder, format);
    if (!found) continue;
    const bool has_config = format.may_bring_config || folder.has(kConfig);
    const bool is_named_so = is_index(*found) || *found == format.usual;
    if (is_named_so || (has_config && may_be(format, folder, *found))) return *std::move(found);
    // A file of another format may be readable when this one is not.
    if (!doubtful) doubtful = std::move(found);
  }
  if (folder.has(kDistributedIndex) && !folder.names_ending(".distcp").empty()) {
    return kDistributedIndex;
  }
  if (doubtful) return *std::move(doubtful);
  for (const std::string_view ending : {".h5", ".msgpack"}) {
    const auto others = folder.names_ending(ending);
    if (others.empty()) continue;
    refuse_weights(ErrorKind::unsupported, folder.path(),
                   "contains only " + verbatim(others.front()) + ", a format that is not supported",
                   "convert it to safetensors, for example with from_pretrained and "
                   "save_pretrained in transformers");
  }
  if (const auto snapshot = find_snapshot(folder.path())) {
    refuse_weights(ErrorKind::io, folder.path(),
                   "is a cache folder, which keeps the model's files in snapshots/REVISION",
                   "pass " + verbatim(snapshot->string()));
  }
  refuse_other_contents(folder);
  refuse_weights(ErrorKind::io, folder.path(), "contains no weights",
                 "expected a file with extension " + join_alternatives(weight_endings()) +
                     ", or an index of such files");
}

const FileFormat& format_of(const MappedFile& file) {
  const auto start = file.bytes().first(std::min(kInspectedBytes, file.bytes().size()));
  file.need(start);
  if (is_lfs_pointer(start)) {
    refuse_weights(ErrorKind::format, file.path(), "is a Git LFS pointer, not the weights",
                   "fetch the weights: git lfs pull");
  }
  const std::string name = file.path().filename().string();
  if (name.ends_with(".distcp")) {
    refuse_weights(ErrorKind::usage, file.path(), "is a part of a distributed checkpoint",
                   "pass its folder");
  }
  if (is_ggml(start)) {
    refuse_weights(ErrorKind::unsupported, file.path(),
                   "is a GGML file, the format before GGUF, which is not supported",
                   "download or convert the model as GGUF");
  }
  const FileFormat* candidate = nullptr;
  for (const FileFormat& format : file_formats()) {
    if (!has_ending(format, name)) continue;
    if (format.recognizes == nullptr || format.recognizes(start)) return format;
    if (candidate == nullptr) candidate = &format;
  }
  if (candidate == nullptr) {
    refuse_weights(ErrorKind::unsupported, file.path(), "unsupported file format",
                   "expected a file with extension " + join_alternatives(weight_endings()) +
                       ", an index of such files, or a folder with one");
  }
  refuse_weights(ErrorKind::format, file.path(),
                 "does not match its file extension (" + std::string(candidate->name) + ")",
                 "truncated, or another format?");
}

namespace {

[[noreturn]] void refuse_index(std::string_view file, std::string problem) {
  throw Error(ErrorKind::format, {.file = std::string(file), .problem = std::move(problem)});
}

/// Returns the weights file of a folder with these files; nothing if the folder cannot be opened.
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

bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

std::map<std::string, std::string> parse_shard_index(std::string_view text,
                                                     std::string_view where) {
  const nlohmann::json index = parse_json(text, where);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    refuse_index(where, "has no object 'weight_map'");
  }
  std::map<std::string, std::string> shard_of;
  for (const auto& [tensor, shard] : index["weight_map"].items()) {
    if (!shard.is_string()) {
      refuse_index(where, "the shard of '" + verbatim(tensor) + "' is not a string");
    }
    const auto& name = shard.get_ref<const std::string&>();
    if (!is_plain_file_name(name)) {
      refuse_index(where, "the shard of '" + verbatim(tensor) + "' is '" + verbatim(name) +
                              "', which is not a plain file name in the folder of the index");
    }
    shard_of.emplace(tensor, name);
  }
  if (shard_of.empty()) refuse_index(where, "'weight_map' is empty");
  return shard_of;
}

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
  std::vector<fs::path> paths;
  if (const auto& adapter = checkpoint.adapter_folder(); adapter && !adapter->is_remote()) {
    paths.push_back(adapter->path() / "adapter_config.json");
  }
  for (const MappedFile& file : checkpoint.files()) {
    if (!file.is_remote()) paths.push_back(file.path());
  }
  if (folder.is_remote()) return paths;
  paths.push_back(checkpoint.main_file());
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
