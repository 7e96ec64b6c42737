#include "attnscope/checkpoint/checkpoint.h"

#include <algorithm>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/quantized/quantized.h"

namespace attnscope {

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
    throw Error(ErrorKind::format,
                {.file = main_file_.string(),
                 .problem = verbatim("contains tensors of the same name with and without '" +
                                     prefix + "'")});
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
