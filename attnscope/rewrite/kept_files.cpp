#include "attnscope/rewrite/kept_files.h"

#include <system_error>
#include <utility>

#include "attnscope/rewrite/new_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnfinished = ".tmp";

}  // namespace

KeptFiles::KeptFiles(const fs::path& made, const std::string& ending, std::string key)
    : folder_(hidden_beside(made, ending)), key_(std::move(key)) {
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, failed)) {
    const bool own = entry.path().filename().string().starts_with(key_);
    if (!own || entry.path().extension() == kUnfinished) fs::remove_all(entry.path(), failed);
  }
}

fs::path KeptFiles::path_of(const std::string& name) const {
  return folder_ / (key_ + "-" + name + ".safetensors");
}

void KeptFiles::write(const std::string& name,
                      const std::function<void(std::ostream&)>& write) const {
  const fs::path path = path_of(name);
  fs::path unfinished = path;
  unfinished += kUnfinished;
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (failed) fail_writing(folder_, failed.message());
  try {
    write_new_file(unfinished, unfinished, write);
  } catch (...) {
    fs::remove(unfinished, failed);  // it may be what filled the disk
    throw;
  }
  fs::rename(unfinished, path, failed);
  if (failed) fail_writing(path, failed.message());
}

void KeptFiles::remove() const {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace attnscope
