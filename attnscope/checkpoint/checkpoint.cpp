#include "attnscope/checkpoint/checkpoint.h"

#include <algorithm>
#include <optional>
#include <system_error>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/quantized/quantized.h"
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

void Checkpoint::add_contents(MappedFile file, FileContents contents) {
  for (NamedTensor& tensor : contents.tensors) {
    tensors_.push_back({std::move(tensor.name), std::move(tensor.view), files_.size()});
  }
  // Writers that drop the second name of a shared tensor store it here as alias → kept name.
  for (auto& [key, text] : contents.metadata) aliases_.emplace(key, text);
  for (std::string& note : contents.notes) {
    warnings_.push_back({.file = file.path().string(), .problem = std::move(note)});
  }
  if (contents.config) config_ = std::move(contents.config);
  if (!contents.settings.empty()) settings_ = std::move(contents.settings);
  if (contents.tokenizer) tokenizer_ = std::move(contents.tokenizer);
  memory_.insert(memory_.end(), contents.memory.begin(), contents.memory.end());
  files_.push_back(std::move(file));
}

void Checkpoint::use_own_texts() {
  const std::string place = main_file_.string();
  if (config_)
    folder_.bring_text(
        "config.json", [text = *config_] { return text; }, place);
  if (!tokenizer_) return;
  folder_.bring_text("tokenizer.json", tokenizer_, place);
  // Those of the folder may belong to another tokenizer.
  for (const char* name :
       {"tokenizer_config.json", "special_tokens_map.json", "generation_config.json"}) {
    folder_.hide(name);
  }
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

void Checkpoint::index_names(const std::map<std::string, std::string>& shard_of) {
  const auto file_name = [&](const CheckpointTensor& tensor) {
    return files_[tensor.file].path().filename().string();
  };
  // If two tensors have the same name, the index decides; without an entry, the first one is used.
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
  index_tensors();
}

void Checkpoint::index_tensors() {
  by_name_.clear();
  for (std::size_t index = 0; index < tensors_.size(); ++index) {
    by_name_.emplace(tensors_[index].name, index);
  }
  // The metadata also contains other entries ("format": "pt"). An alias is an entry whose value
  // names a tensor.
  std::erase_if(aliases_, [&](const auto& alias) {
    return by_name_.count(alias.first) > 0 || by_name_.count(alias.second) == 0;
  });
}

void Checkpoint::compose_quantized(std::string_view method, std::string_view config,
                                   std::string_view config_file) {
  replace_tensors(composed_tensors(*this, method, config, config_file));
}

void Checkpoint::use_config(std::string text) {
  const std::string place =
      folder_.has("config.json") ? folder_.place_of("config.json") : main_file_.string();
  config_ = std::move(text);
  folder_.bring_text(
      "config.json", [text = *config_] { return text; }, place);
}

void Checkpoint::take_files(Checkpoint adapter,
                            std::vector<std::shared_ptr<const std::vector<std::byte>>> memory) {
  for (MappedFile& file : adapter.files_) files_.push_back(std::move(file));
  memory_.insert(memory_.end(), adapter.memory_.begin(), adapter.memory_.end());
  memory_.insert(memory_.end(), memory.begin(), memory.end());
  warnings_.insert(warnings_.end(), adapter.warnings_.begin(), adapter.warnings_.end());
  adapter_folder_ = std::move(adapter.folder_);
}

void Checkpoint::replace_tensors(std::vector<CheckpointTensor> tensors) {
  tensors_ = std::move(tensors);
  index_tensors();
}

void Checkpoint::leave_out_prefix(const std::string& prefix) {
  if (prefix.empty()) return;
  const auto own_name = [&](const std::string& name) {
    return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  };
  const auto renamed = [&](const auto& names, auto value) {
    std::map<std::string, std::string, std::less<>> out;
    for (const auto& [name, other] : names) out.emplace(own_name(name), value(other));
    return out;
  };
  for (CheckpointTensor& tensor : tensors_) tensor.name = own_name(tensor.name);
  aliases_ = renamed(aliases_, own_name);
  missing_ = renamed(missing_, [](const std::string& shard) { return shard; });
  index_tensors();
  if (by_name_.size() < tensors_.size()) {
    refuse_folder(ErrorKind::format, main_file_,
                  verbatim("contains tensors of the same name with and without '" + prefix + "'"));
  }
  warnings_.push_back(
      {.file = main_file_.string(),
       .problem = verbatim("the prefix '" + prefix + "' of tensor names is ignored")});
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

const CheckpointTensor* Checkpoint::find_first(std::span<const std::string> names) const {
  for (const std::string& name : names) {
    if (const CheckpointTensor* tensor = find(name)) return tensor;
  }
  return nullptr;
}

std::string Checkpoint::missing_note(std::string_view name) const {
  const auto found = missing_.find(name);
  if (found == missing_.end()) return "";
  return ": the index assigns it to " + found->second +
         (absent_shards_.count(found->second) > 0 ? ", which is missing"
                                                  : ", which does not contain it");
}

std::uint64_t Checkpoint::file_bytes() const {
  std::uint64_t total = 0;
  for (const MappedFile& file : files_) total += file.state().bytes;
  return total;
}

bool Checkpoint::is_remote() const {
  return std::any_of(files_.begin(), files_.end(),
                     [](const MappedFile& file) { return file.is_remote(); });
}

void Checkpoint::need(std::span<const std::span<const std::byte>> parts) const {
  for (const MappedFile& file : files_) file.need(parts);
}

void Checkpoint::need(const CheckpointTensor& tensor) const { need(all_bytes(tensor.view)); }

void Checkpoint::prefetch(std::span<const std::span<const std::byte>> parts) const {
  for (const MappedFile& file : files_) file.prefetch(parts);
}

void Checkpoint::release(const CheckpointTensor& tensor) const {
  for (const auto part : all_bytes(tensor.view)) {
    for (const MappedFile& file : files_) file.release(part);
  }
}

void Checkpoint::check_intact(const CheckpointTensor& tensor) const {
  if (tensor.view.source == nullptr) return files_[tensor.file].check_intact();
  for (const MappedFile& file : files_) file.check_intact();  // its parts may be in several files
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
