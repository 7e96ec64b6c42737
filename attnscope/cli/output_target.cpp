#include "attnscope/cli/output_target.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <string_view>
#include <utility>

#include "attnscope/core/error.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const char* problem, int error) {
  throw Error(ErrorKind::io, path.empty() ? "stdout" : path.string(),
              std::string(problem) + ": " + std::strerror(error));
}

}  // namespace

OutputTarget::OutputTarget(const std::string& path) {
  if (path.empty()) {
    file_ = stdout;
    return;
  }
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  const bool replaced = !fs::exists(status) || fs::is_regular_file(status);
  path_ = path;
  if (replaced) {
    // A link stays a link: what it points to is replaced.
    if (fs::is_symlink(path, ignored)) path_ = fs::weakly_canonical(path, ignored);
    temporary_ = path_;
    temporary_ += ".tmp-" + std::to_string(getpid());
  }
  file_ = std::fopen((replaced ? temporary_ : path_).c_str(), "wb");
  if (file_ == nullptr) fail(path_, "cannot write", errno);
  if (replaced) removal_.emplace(temporary_.string());
}

OutputTarget::~OutputTarget() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  if (!temporary_.empty()) {
    std::error_code ignored;
    fs::remove(temporary_, ignored);
  }
}

bool OutputTarget::is_terminal() const { return isatty(fileno(file_)) != 0; }

std::optional<int> OutputTarget::terminal_width() const {
  winsize size{};
  if (!is_terminal() || ioctl(fileno(file_), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return std::nullopt;
  }
  return size.ws_col;
}

void OutputTarget::write(const std::function<void(std::ostream&)>& render) {
  std::ostringstream text;
  render(text);
  const std::string_view bytes = text.view();
  errno = 0;
  std::fwrite(bytes.data(), 1, bytes.size(), file_);
  std::fflush(file_);
  if (std::ferror(file_) != 0) {
    if (errno == EPIPE) return;
    fail(path_, "cannot write", errno);
  }
  if (temporary_.empty()) return;
  const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
  if (!closed) fail(path_, "cannot write", errno);
  std::error_code error;
  fs::rename(temporary_, path_, error);
  if (error) fail(path_, "cannot replace", error.value());
  temporary_.clear();
  removal_.reset();
}

}  // namespace attnscope
