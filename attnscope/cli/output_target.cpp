#include "attnscope/cli/output_target.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "attnscope/core/error.h"
#include "attnscope/core/temporary_file.h"

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

}  // namespace attnscope
