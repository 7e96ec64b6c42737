#include "attnscope/cli/output_target.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "attnscope/base/error.h"
#include "attnscope/base/temporary_file.h"

namespace attnscope {
namespace {

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
                "output is kept there till it is whole; name "
                "another folder in TMPDIR");
  }
  return file;
}

/// The file that a path leads to where links stay links.
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
  stream_->exceptions(std::ios::badbit);  // lets the buffer's errors through
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
constexpr std::size_t kCopiedBytes = 1 << 20;  // at once

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
