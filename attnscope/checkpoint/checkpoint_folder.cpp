#include "attnscope/checkpoint/checkpoint_folder.h"

#include <algorithm>
#include <system_error>

#include "attnscope/base/error.h"

namespace attnscope {

namespace fs = std::filesystem;

const RemoteFile* CheckpointFolder::find(const std::string& name) const {
  const auto found = std::find_if(files_.begin(), files_.end(),
                                  [&](const RemoteFile& file) { return file.name == name; });
  return found == files_.end() ? nullptr : &*found;
}

bool CheckpointFolder::has(const std::string& name) const {
  if (const auto text = texts_.find(name); text != texts_.end()) return text->second.has_value();
  if (is_remote_) return find(name) != nullptr;
  std::error_code ignored;
  return fs::exists(path_ / name, ignored);
}

MappedFile CheckpointFolder::open(const std::string& name) const {
  if (!is_remote_) return MappedFile(path_ / name);
  if (const RemoteFile* file = find(name)) return MappedFile(*file);
  throw Error(ErrorKind::io, place_of(name), "no such file");
}

std::string CheckpointFolder::read_text(const std::string& name, std::uint64_t limit_bytes) const {
  const auto brought = texts_.find(name);
  if (brought != texts_.end() && brought->second) return brought->second->make();
  return text_of(open(name), limit_bytes);
}

std::string CheckpointFolder::place_of(const std::string& name) const {
  const auto brought = texts_.find(name);
  if (brought != texts_.end() && brought->second) return brought->second->place;
  return (path_ / name).string();
}

void CheckpointFolder::bring_text(const std::string& name, std::function<std::string()> make,
                                  std::string place) {
  texts_[name] = Text{std::move(make), std::move(place)};
}

std::vector<std::string> CheckpointFolder::names_ending(std::string_view ending) const {
  std::vector<std::string> found;
  for (const RemoteFile& file : files_) {
    if (file.name.ends_with(ending)) found.push_back(file.name);
  }
  std::error_code error;
  if (!is_remote_) {
    for (fs::directory_iterator entry(path_, error), end; !error && entry != end;
         entry.increment(error)) {
      std::string name = entry->path().filename().string();
      if (name.ends_with(ending)) found.push_back(std::move(name));
    }
  }
  if (error) {
    throw Error(ErrorKind::io,
                {.file = path_.string(), .problem = "cannot list: " + error.message()});
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace attnscope
