// The one error type: what ends a command, and with which exit code.
#pragma once

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

namespace attnscope {

enum class ErrorKind { usage, io, format, unsupported, numerical };

struct ErrorKindInfo {
  ErrorKind kind;
  std::string_view name;  // stable: used in JSON and by scripts
  int exit_code;
};

/// Indexed by ErrorKind.
inline constexpr std::array kErrorKinds = {
    ErrorKindInfo{ErrorKind::usage, "usage", 2},
    ErrorKindInfo{ErrorKind::io, "io", 3},
    ErrorKindInfo{ErrorKind::format, "format", 4},
    ErrorKindInfo{ErrorKind::unsupported, "unsupported", 5},
    ErrorKindInfo{ErrorKind::numerical, "numerical", 6},
};

constexpr int exit_code(ErrorKind kind) {
  return kErrorKinds[static_cast<std::size_t>(kind)].exit_code;
}

/// Ends the command. `where` is what the user can look at: a file, "file: tensor 'name'", a flag.
/// Both texts may hold names from files: control bytes are escaped, so the message is one line.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string_view where, std::string_view problem);
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace attnscope
