#include "attnscope/cli/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/temporary_file.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxHidden = 16;  // runs to the same name at once

[[noreturn]] void fail_replacing(const fs::path& path, const char* problem, int error) {
  throw Error(ErrorKind::io, {.file = path.string(),
                              .problem = std::string(problem) + ": " + std::strerror(error)});
}

fs::path folder_of(const fs::path& path) {
  const fs::path folder = path.parent_path();
  return folder.empty() ? "." : folder;
}

std::string link_to(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

/// Whether the path still names the open file, which another run may have renamed or removed.
bool names(const fs::path& path, int file) {
  struct stat by_path = {}, by_descriptor = {};
  return stat(path.c_str(), &by_path) == 0 && fstat(file, &by_descriptor) == 0 &&
         by_path.st_dev == by_descriptor.st_dev && by_path.st_ino == by_descriptor.st_ino;
}

}  // namespace

ReplacedFile::ReplacedFile(fs::path path, bool may_be_unnamed) : path_(std::move(path)) {
  if (may_be_unnamed) {
    file_ = open_unnamed_file(folder_of(path_));
    // It gets its name by its link in /proc.
    if (file_ >= 0 && access(link_to(file_).c_str(), F_OK) == 0) return;
    if (file_ >= 0) close(std::exchange(file_, -1));
  }
  open_hidden();
}

ReplacedFile::~ReplacedFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
  if (file_ >= 0) close(file_);
}

fs::path ReplacedFile::hidden(int number) const {
  constexpr std::size_t kMaxLetters = 200;  // of a name, which may have 255 bytes
  const std::string name = path_.filename().string().substr(0, kMaxLetters);
  return folder_of(path_) /
         ("." + name + ".attnscope-tmp" + (number == 0 ? "" : std::to_string(number)));
}

void ReplacedFile::open_hidden() {
  for (int number = 0; number < kMaxHidden; ++number) {
    const fs::path candidate = hidden(number);
    const int file = open(candidate.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) fail_replacing(path_, "cannot write", errno);
    // Whoever holds the lock is writing; without one, a run that was killed left the file.
    if (flock(file, LOCK_EX | LOCK_NB) != 0 || !names(candidate, file) || ftruncate(file, 0) != 0) {
      close(file);
      continue;
    }
    temporary_ = candidate;
    file_ = file;
    return;
  }
  fail_replacing(path_, "cannot write", EBUSY);
}

void ReplacedFile::link_hidden() {
  // One run at a time has a name here that is not its own: what another one left goes.
  const int folder = open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) flock(folder, LOCK_EX);
  const fs::path name = hidden(0);
  unlink(name.c_str());
  const bool linked =
      linkat(AT_FDCWD, link_to(file_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  const int link_error = errno;
  const bool renamed = linked && rename(name.c_str(), path_.c_str()) == 0;
  const int rename_error = errno;
  if (linked && !renamed) unlink(name.c_str());
  if (folder >= 0) close(folder);
  if (!linked) fail_replacing(path_, "cannot write", link_error);
  if (!renamed) fail_replacing(path_, "cannot replace", rename_error);
}

void ReplacedFile::replace() {
  if (temporary_.empty()) {
    link_hidden();
  } else {
    if (rename(temporary_.c_str(), path_.c_str()) != 0)
      fail_replacing(path_, "cannot replace", errno);
    temporary_.clear();
  }
  const bool closed = close(std::exchange(file_, -1)) == 0;
  if (!closed) fail_replacing(path_, "cannot write", errno);
}

}  // namespace attnscope
