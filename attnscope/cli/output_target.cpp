#include "attnscope/cli/output_target.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/temporary_file.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxHidden = 16;  // concurrent runs that write to the same name

[[noreturn]] void fail_replacing(const fs::path& path, const char* problem, int error) {
  throw Error(ErrorKind::io, {.file = path.string(),
                              .problem = std::string(problem) + ": " + std::strerror(error)});
}

fs::path folder_of(const fs::path& path) {
  const fs::path folder = path.parent_path();
  return folder.empty() ? "." : folder;
}

std::string link_to(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

/// Whether the path still refers to the open file, which another run may have renamed or removed.
bool names(const fs::path& path, int file) {
  struct stat by_path = {}, by_descriptor = {};
  return stat(path.c_str(), &by_path) == 0 && fstat(file, &by_descriptor) == 0 &&
         by_path.st_dev == by_descriptor.st_dev && by_path.st_ino == by_descriptor.st_ino;
}

namespace fs = std::filesystem;

constexpr std::size_t kKeptBytes = 4 << 20;

[[noreturn]] void fail_target(const std::string& place, const char* problem, int error,
                              const std::string& hint = "") {
  throw Error(ErrorKind::io, place, std::string(problem) + ": " + std::strerror(error), hint);
}

int open_spool() {
  const int file = open_temporary_file();
  if (file < 0) {
    fail_target(temporary_folder(), "cannot write", errno,
                "output is buffered in this folder until it is complete; set TMPDIR to another "
                "folder");
  }
  return file;
}

/// The path with symbolic links resolved.
fs::path without_links(const std::string& path) {
  std::error_code ignored;
  return fs::is_symlink(path, ignored) ? fs::weakly_canonical(path, ignored) : fs::path(path);
}

bool is_replaced(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return !fs::exists(status) || fs::is_regular_file(status);
}

}  // namespace

ReplacedFile::ReplacedFile(fs::path path, bool may_be_unnamed) : path_(std::move(path)) {
  if (may_be_unnamed) {
    file_ = open_unnamed_file(folder_of(path_));
    // The file gets its name through its link in /proc.
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
  constexpr std::size_t kMaxLetters = 200;  // bytes of a name, which may have at most 255
  const std::string name = path_.filename().string().substr(0, kMaxLetters);
  return folder_of(path_) /
         ("." + name + ".attnscope-tmp" + (number == 0 ? "" : std::to_string(number)));
}

void ReplacedFile::open_hidden() {
  for (int number = 0; number < kMaxHidden; ++number) {
    const fs::path candidate = hidden(number);
    const int file = open(candidate.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) fail_replacing(path_, "cannot write", errno);
    // The holder of the lock is still writing. An unlocked file was left by a run that was killed.
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
  // All runs share this hidden name, so the lock on the folder serializes them. A leftover of a
  // killed run is removed.
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

OutputTarget::OutputTarget(const std::string& path) {
  const bool to_stdout = path.empty() || path == kStdout;
  place_ = to_stdout ? "stdout" : path;
  if (!to_stdout && is_replaced(path)) {
    file_.emplace(without_links(path));
    buffer_ = std::make_unique<FileBuffer>(
        0, [this] { return dup(file_->descriptor()); }, place_);
  } else {
    out_ = to_stdout ? STDOUT_FILENO : open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (out_ < 0) fail_target(place_, "cannot write", errno);
    buffer_ = std::make_unique<FileBuffer>(kKeptBytes, open_spool, temporary_folder());
  }
  stream_ = std::make_unique<std::ostream>(buffer_.get());
  stream_->exceptions(std::ios::badbit);  // rethrows the errors of the buffer
}

OutputTarget::~OutputTarget() {
  if (out_ > STDOUT_FILENO) close(out_);
}

bool OutputTarget::is_terminal() const { return !file_ && isatty(out_) != 0; }

std::optional<int> OutputTarget::terminal_width() const {
  winsize size{};
  if (!is_terminal() || ioctl(out_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return std::nullopt;
  }
  return size.ws_col;
}

void OutputTarget::write_now(std::string_view text) {
  const int error = write_all(out_, text.data(), text.size());
  if (error != 0 && error != EPIPE) fail_target(place_, "cannot write", error);
}

void OutputTarget::commit() {
  if (file_) {
    buffer_->move_to_file();
    file_->replace();
    return;
  }
  const int error = buffer_->copy_to(out_);
  if (error != 0 && error != EPIPE) fail_target(place_, "cannot write", error);
}

namespace {

constexpr std::size_t kAreaBytes = 64 << 10;
constexpr std::size_t kCopiedBytes = 1 << 20;  // bytes copied at a time

[[noreturn]] void fail_writing(const std::string& place, const char* problem, int error) {
  throw Error(ErrorKind::io, place, std::string(problem) + ": " + std::strerror(error));
}

}  // namespace

int write_all(int descriptor, const char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t written = write(descriptor, bytes, count);
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
  return 0;
}

FileBuffer::FileBuffer(std::size_t kept_bytes, std::function<int()> open, std::string place)
    : kept_bytes_(kept_bytes), open_(std::move(open)), place_(std::move(place)), area_(kAreaBytes) {
  setp(area_.data(), area_.data() + area_.size());
}

FileBuffer::~FileBuffer() {
  if (file_ >= 0) close(file_);
}

FileBuffer::int_type FileBuffer::overflow(int_type next) {
  take_area();
  if (kept_.size() > kept_bytes_) move_to_file();
  if (next != traits_type::eof()) sputc(traits_type::to_char_type(next));
  return traits_type::not_eof(next);
}

void FileBuffer::take_area() {
  kept_.append(pbase(), static_cast<std::size_t>(pptr() - pbase()));
  setp(area_.data(), area_.data() + area_.size());
}

void FileBuffer::move_to_file() {
  take_area();
  if (file_ < 0) file_ = open_();
  const int error = write_all(file_, kept_.data(), kept_.size());
  if (error != 0) fail_writing(place_, "cannot write", error);
  kept_.clear();
}

int FileBuffer::copy_to(int descriptor) {
  take_area();
  if (file_ < 0) return write_all(descriptor, kept_.data(), kept_.size());
  move_to_file();
  std::vector<char> bytes(kCopiedBytes);
  for (off_t at = 0;;) {
    const ssize_t count = pread(file_, bytes.data(), bytes.size(), at);
    if (count < 0) fail_writing(place_, "cannot read", errno);
    if (count == 0) return 0;
    const int error = write_all(descriptor, bytes.data(), static_cast<std::size_t>(count));
    if (error != 0) return error;
    at += count;
  }
}

}  // namespace attnscope
