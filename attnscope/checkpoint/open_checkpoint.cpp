// How a checkpoint is opened: one file, parts, shards with an index, or a distributed checkpoint.
#include "attnscope/checkpoint/checkpoint.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <system_error>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/pytorch/distributed.h"
#include "attnscope/checkpoint/sentence_transformers.h"
#include "attnscope/checkpoint/weight_files.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_folder(ErrorKind kind, const fs::path& file, std::string problem,
                                std::string hint = "") {
  throw Error(kind,
              {.file = file.string(), .problem = std::move(problem), .hint = std::move(hint)});
}

/// Returns the result of `read`, unless the files were truncated meanwhile.
template <class Read>
auto read_intact(std::span<const MappedFile> files, Read read) {
  const auto check = [&] {
    for (const MappedFile& file : files) file.check_intact();
  };
  try {
    auto contents = read();
    check();
    return contents;
  } catch (const Error&) {
    check();  // zeros of a truncated file can cause this error, so truncation is reported first
    throw;
  }
}

/// The tensors that an index assigns to one shard.
struct NamesInShard {
  std::size_t count = 0;
  std::uint64_t bytes = 0;

  void add(const std::string& tensor) {
    ++count;
    bytes += tensor.size();
  }

  /// For a remote file: prefetches what its reader is likely to read, in one request.
  void prefetch_start(const MappedFile& file) const {
    if (!file.is_remote()) return;
    const std::string name = file.path().filename().string();
    for (const FileFormat& format : file_formats()) {
      if (format.start_bytes_of_tensor == 0) continue;
      if (!name.ends_with(format.endings.front())) continue;
      const std::size_t size = file.bytes().size();
      const std::uint64_t of_tensor =
          format.start_bytes_of_tensor + 2 * std::to_string(size).size();
      file.prefetch(file.bytes().first(std::min<std::size_t>(bytes + count * of_tensor, size)));
    }
  }
};

}  // namespace

Checkpoint Checkpoint::open(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    refuse_folder(ErrorKind::io, path, "no such file or folder",
                  "a model on the Hugging Face hub is named ORG/NAME");
  }
  if (fs::is_directory(status)) return open(CheckpointFolder(transformer_folder(path)));
  return open(CheckpointFolder(path.parent_path()), path.filename().string());
}

Checkpoint Checkpoint::open(const CheckpointFolder& folder, std::string weights) {
  if (weights.empty()) weights = find_weights(folder);
  Checkpoint checkpoint;
  checkpoint.folder_ = folder;
  checkpoint.main_file_ = folder.path() / weights;
  bring_google_config(checkpoint.folder_);
  if (is_index(weights)) {
    checkpoint.open_sharded(folder);
    return checkpoint;
  }
  if (weights == kDistributedIndex) {
    checkpoint.open_distributed(folder);
    return checkpoint;
  }
  checkpoint.open_parts(folder, weights);
  for (const std::string& part : later_parts(folder, weights)) {
    const std::size_t first = checkpoint.tensors_.size(), number = checkpoint.files_.size();
    checkpoint.add_file(folder.open(part));
    for (std::size_t tensor = first; tensor < checkpoint.tensors_.size(); ++tensor) {
      checkpoint.tensors_[tensor].name = part_name(checkpoint.tensors_[tensor].name, number);
    }
  }
  checkpoint.index_names({});
  checkpoint.use_own_texts();
  return checkpoint;
}

Checkpoint Checkpoint::in_memory(TensorsInMemory memory) {
  Checkpoint checkpoint;
  checkpoint.folder_ = CheckpointFolder(memory.name, {});
  checkpoint.main_file_ = memory.name;
  checkpoint.owner_ = std::move(memory.owner);
  std::uint64_t bytes = 0;
  std::set<const std::byte*> counted;  // tied tensors occupy the same bytes
  for (const NamedTensor& tensor : memory.tensors) {
    if (counted.insert(tensor.view.bytes.data()).second) bytes += stored_bytes(tensor.view);
  }
  FileContents contents{.tensors = std::move(memory.tensors), .config = std::move(memory.config)};
  if (memory.tokenizer) {
    contents.tokenizer = [text = *std::move(memory.tokenizer)] { return text; };
    contents.tokenizer_config = std::move(memory.tokenizer_config);
  }
  checkpoint.add_contents(MappedFile::in_memory(std::move(memory.name), bytes),
                          std::move(contents));
  checkpoint.index_names({});
  checkpoint.use_own_texts();
  return checkpoint;
}

void Checkpoint::open_parts(const CheckpointFolder& folder, const std::string& name) {
  MappedFile file = folder.open(name);
  const FileFormat& format = format_of(file);
  std::vector<fs::path> names = {name};
  if (format.parts != nullptr) names = format.parts(name);
  if (format.read_parts == nullptr) {
    for (const fs::path& part : names) add_file(folder.open(part.string()));
    return;
  }
  std::vector<MappedFile> files;
  for (const fs::path& part : names) {
    files.push_back(part == name ? std::move(file) : folder.open(part.string()));
  }
  std::vector<FileContents> contents = read_intact(files, [&] { return format.read_parts(files); });
  for (std::size_t part = 0; part < files.size(); ++part) {
    add_contents(std::move(files[part]), std::move(contents[part]));
  }
}

void Checkpoint::add_file(MappedFile file) {
  const FileFormat& format = format_of(file);
  FileContents contents = read_intact({&file, 1}, [&] {
    if (format.read == nullptr) return std::move(format.read_parts({&file, 1}).front());
    return format.read(file, file.path().string());
  });
  add_contents(std::move(file), std::move(contents));
}

void Checkpoint::find_bytes(CheckpointTensor& tensor, const BytesOfOtherFile& place,
                            std::map<std::string, std::size_t>& opened) {
  const auto refuse_bytes = [&](ErrorKind kind, const std::string& problem) {
    throw Error(kind, {.file = main_file_.string(),
                       .tensor = tensor.name,
                       .problem = verbatim("tensor '" + tensor.name + "' " + problem)});
  };
  if (!is_plain_file_name(place.file)) {
    refuse_bytes(ErrorKind::format,
                 "is stored in '" + place.file + "', which is not a file of this folder");
  }
  const auto [known, fresh] = opened.emplace(place.file, files_.size());
  if (fresh) {
    if (!folder_.has(place.file)) {
      refuse_bytes(ErrorKind::io, "is stored in " + place.file + ", which is missing");
    }
    files_.push_back(folder_.open(place.file));
  }
  const std::span<const std::byte> all = files_[known->second].bytes();
  if (place.first > all.size() || place.count > all.size() - place.first) {
    refuse_bytes(ErrorKind::format, "is stored beyond the end of " + place.file);
  }
  tensor.file = known->second;
  tensor.view.bytes = all.subspan(place.first, place.count);
}

void Checkpoint::add_contents(MappedFile file, FileContents contents) {
  const std::size_t number = files_.size();
  files_.push_back(std::move(file));
  std::map<std::string, std::size_t> opened;
  for (NamedTensor& tensor : contents.tensors) {
    tensors_.push_back({std::move(tensor.name), std::move(tensor.view), number});
    if (tensor.other_file) find_bytes(tensors_.back(), *tensor.other_file, opened);
  }
  // Writers that drop the second name of a shared tensor store it here as alias → kept name.
  for (auto& [key, text] : contents.metadata) aliases_.emplace(key, text);
  for (std::string& note : contents.notes) {
    warnings_.push_back({.file = files_[number].path().string(), .problem = std::move(note)});
  }
  if (contents.config) config_ = std::move(contents.config);
  if (!contents.settings.empty()) settings_ = std::move(contents.settings);
  if (contents.tokenizer) tokenizer_ = std::move(contents.tokenizer);
  if (contents.tokenizer_config) tokenizer_config_ = std::move(contents.tokenizer_config);
  memory_.insert(memory_.end(), contents.memory.begin(), contents.memory.end());
}

void Checkpoint::use_own_texts() {
  const std::string place = main_file_.string();
  if (config_)
    folder_.bring_text(
        "config.json", [text = *config_] { return text; }, place);
  if (!tokenizer_) return;
  folder_.bring_text("tokenizer.json", tokenizer_, place);
  // Those of the folder may belong to another tokenizer.
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json",
                           "generation_config.json", "chat_template.jinja", "chat_template.json"}) {
    folder_.hide(name);
  }
  if (!tokenizer_config_) return;
  folder_.bring_text(
      "tokenizer_config.json", [text = *tokenizer_config_] { return text; }, place);
}

void Checkpoint::open_distributed(const CheckpointFolder& folder) {
  const FileLocation index = {main_file_.string()};
  const MappedFile list = folder.open(kDistributedIndex);
  const std::vector<DistributedTensor> tensors = read_intact({&list, 1}, [&] {
    list.need(list.bytes());
    return parse_distributed_index(list.bytes(), index);
  });
  std::set<std::string> names;
  for (const DistributedTensor& tensor : tensors) {
    for (const DistributedChunk& chunk : tensor.chunks) names.insert(chunk.file);
  }
  std::vector<MappedFile> files;
  for (const std::string& name : names) files.push_back(folder.open(name));
  std::vector<FileContents> contents =
      read_intact(files, [&] { return read_distributed(tensors, files, index); });
  for (std::size_t file = 0; file < files.size(); ++file) {
    add_contents(std::move(files[file]), std::move(contents[file]));
  }
  index_names({});
}

void Checkpoint::open_sharded(const CheckpointFolder& folder) {
  const fs::path& index_path = main_file_;
  const auto shard_of = parse_shard_index(
      folder.read_text(index_path.filename().string(), kMaxIndexBytes), index_path.string());
  std::map<std::string, NamesInShard> shards;
  for (const auto& [tensor, shard] : shard_of) shards[shard].add(tensor);
  std::vector<MappedFile> files;
  for (const auto& [shard, names] : shards) {
    if (folder.has(shard)) {
      // Starts fetching the beginning of every shard before the first is read.
      names.prefetch_start(files.emplace_back(folder.open(shard)));
    } else {
      absent_shards_.insert(shard);
    }
  }
  for (MappedFile& file : files) add_file(std::move(file));
  // A partial checkpoint can be opened for what it contains.
  const std::string named = "this shard is listed in " + verbatim(index_path.filename().string());
  if (files_.empty()) {
    refuse_folder(ErrorKind::io, folder.place_of(shards.begin()->first), named + " but is missing",
                  "download it");
  }
  for (const std::string& shard : absent_shards_) {
    const std::size_t count = shards.at(shard).count;
    warnings_.push_back(
        {.file = folder.place_of(shard),
         .problem = named + " but is missing, which affects " + counted(count, "tensor"),
         .hint = "download it"});
  }

  index_names(shard_of);

  for (const CheckpointTensor& tensor : tensors_) {
    const auto listed = shard_of.find(tensor.name);
    const std::string held_by = files_[tensor.file].path().filename().string();
    if (listed == shard_of.end()) {
      warn(tensor, "is not listed in the index");
    } else if (listed->second != held_by) {
      warn(tensor, "is assigned to " + listed->second + " in the index");
    }
  }
  for (const auto& [tensor, shard] : shard_of) {
    if (find(tensor) != nullptr) continue;
    missing_.emplace(tensor, shard);
    if (absent_shards_.count(shard) > 0) continue;  // already reported above
    warnings_.push_back({.file = index_path.string(),
                         .tensor = tensor,
                         .problem = verbatim("tensor '" + tensor + "' is assigned to " + shard +
                                             " by the index, but is not in it")});
  }
}

}  // namespace attnscope
