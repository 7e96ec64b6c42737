#include "attnscope/base/new_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "attnscope/base/error.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

std::string reason_of(int error) {
  return "cannot write: " + std::string(std::strerror(error == 0 ? EIO : error));
}

/// Returns the path without a trailing slash.
fs::path trimmed(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

}  // namespace

void fail_writing(const fs::path& path, const std::string& problem) {
  throw Error(ErrorKind::io, {.file = path.string(), .problem = problem});
}

fs::path hidden_file_next_to(const fs::path& path, const std::string& ending) {
  const fs::path own = trimmed(path);
  const fs::path parent = own.has_parent_path() ? own.parent_path() : fs::path(".");
  return parent / ("." + own.filename().string() + "." + ending);
}

void write_new_file(const fs::path& path, const fs::path& called,
                    const std::function<void(std::ostream&)>& write) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (!out) fail_writing(called, reason_of(errno));
  write(out);
  out.close();
  if (!out) fail_writing(called, reason_of(errno));
}

NewFolder::NewFolder(fs::path path) : path_(trimmed(path)) {
  std::error_code failed;
  const fs::file_status status = fs::status(path_, failed);
  if (fs::exists(status) && !fs::is_directory(status))
    fail_writing(path_,
                 "expected a folder, but "
                 "this is a file");
  if (fs::is_directory(status) && !fs::is_empty(path_, failed)) {
    fail_writing(path_, "the folder exists and is not empty; nothing was written");
  }
  temporary_ = hidden_file_next_to(path_, "attnscope-tmp");
  try {
    lock();
  } catch (...) {
    if (lock_ >= 0) close(lock_);
    throw;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(temporary_, failed)) {
    fs::remove_all(entry.path(), failed);
  }
}

void NewFolder::lock() {
  // A run that ends between open() and flock() can remove this folder. The next attempt creates a
  // new one.
  constexpr int kTries = 10;
  for (int tries = 0; tries < kTries; ++tries) {
    std::error_code failed;
    fs::create_directory(temporary_, failed);
    lock_ = open(temporary_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (lock_ < 0) {
      fail_writing(path_, "cannot create the folder " + verbatim(temporary_.string()) + ": " +
                              (failed ? failed.message() : std::strerror(errno)));
    }
    if (flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      fail_writing(path_, "another run is writing this folder; nothing was written");
    }
    struct stat held = {}, named = {};
    if (fstat(lock_, &held) == 0 && lstat(temporary_.c_str(), &named) == 0 &&
        held.st_dev == named.st_dev && held.st_ino == named.st_ino) {
      return;
    }
    close(std::exchange(lock_, -1));
  }
  fail_writing(path_, "another run is writing this folder; nothing was written");
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
  close(lock_);
}

void NewFolder::write(const std::string& name,
                      const std::function<void(std::ostream&)>& write) const {
  write_new_file(temporary_ / name, path_ / name, write);
}

void NewFolder::write(const std::string& name, std::string_view content) const {
  write(name, [&](std::ostream& out) {
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
  });
}

void NewFolder::commit() {
  std::error_code failed;
  fs::rename(temporary_, path_, failed);  // also replaces an empty folder
  if (failed)
    fail_writing(path_,
                 "cannot rename the finished folder to this "
                 "name: " +
                     failed.message());
  temporary_.clear();
}

}  // namespace attnscope
