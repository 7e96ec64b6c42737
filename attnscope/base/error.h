// The one error type: what ends a command, and with which exit code.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

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

/// What an error is about, in parts, so that each front end can word it itself. Parts that do not
/// apply are empty. In `problem` and `hint`, `{name}` stands for a command's parameter, and `{{`
/// for a brace.
struct ErrorParts {
  std::string file;       // as it was named
  std::string tensor;     // of that file; or named in `problem`: "tensor 'x' is missing"
  std::string parameter;  // of a command, as its description names it: "rope_offset"
  std::string place;      // where in the file ("header"); of an error without a file, what it is
                          // about: "stdout", a model, a routine
  std::optional<std::int64_t> layer;
  std::string problem;              // what is wrong
  std::vector<std::string> beside;  // parameters that `parameter` excludes
  std::string hint;                 // what to do
};

/// How a front end spells a parameter: `--rope-offset` for "rope_offset".
using SpellParameter = std::function<std::string(std::string_view name)>;

/// `text` with its braces doubled, so that a problem or hint shows it unchanged.
std::string verbatim(std::string_view text);

/// `text` with each `{name}` spelled.
std::string spell_parameters(std::string_view text, const SpellParameter& spell);

/// "WHERE: PROBLEM (HINT)" in one line, without empty parts. Parts may hold names from files:
/// control bytes are escaped, and long names are shortened.
std::string error_text(const ErrorParts& parts, const SpellParameter& spell);

/// Ends the command. what() spells parameters by their bare names.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, ErrorParts parts);
  /// An error about a place that is neither a file nor a parameter.
  Error(ErrorKind kind, std::string_view place, std::string_view problem,
        std::string_view hint = "");

  ErrorKind kind() const { return kind_; }
  const ErrorParts& parts() const { return parts_; }

 private:
  ErrorKind kind_;
  ErrorParts parts_;
};

/// The command was asked to stop, and did. Not a failure.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped"; }
};

}  // namespace attnscope
