#include "attnscope/commands/piped_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "attnscope/core/error.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, ErrorKind kind, const std::string& problem) {
  throw Error(kind, {.file = path.string(), .problem = problem});
}

/// Closed where its block ends.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

bool is_null_device(const struct stat& opened) {
  struct stat null;
  return stat("/dev/null", &null) == 0 && null.st_rdev == opened.st_rdev;
}

}  // namespace

bool is_pipe(const fs::path& path) {
  std::error_code ignored;
  return fs::is_fifo(path, ignored) || fs::is_character_file(path, ignored);
}

std::string read_pipe(const fs::path& path, std::uint64_t limit_bytes) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.number < 0)
    fail(path, ErrorKind::io, std::string("cannot open: ") + std::strerror(errno));
  struct stat status;
  const bool device = fstat(file.number, &status) == 0 && S_ISCHR(status.st_mode);
  if (device && isatty(file.number) == 0 && !is_null_device(status)) {
    fail(path, ErrorKind::io, "is a device, expected a file or a pipe");
  }
  std::string text;
  std::array<char, 1 << 16> part;
  for (;;) {
    const ssize_t count = read(file.number, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, ErrorKind::io, std::string("cannot read: ") + std::strerror(errno));
    if (count == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
    if (text.size() > limit_bytes) {
      fail(path, ErrorKind::format, "is larger than " + std::to_string(limit_bytes) + " bytes");
    }
  }
}

}  // namespace attnscope
