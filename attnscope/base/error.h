// The only error type. It ends a command and determines the exit code.
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

/// The parts of an error message, kept separate so that each front end can format them. Parts that
/// do not apply are empty. In `problem` and `hint`, `{name}` stands for a command's parameter, and
/// `{{` for a brace.
struct ErrorParts {
  std::string file;       // its name in messages
  std::string tensor;     // a tensor of that file. `problem` may name it instead: "tensor 'x' is
                          // missing"
  std::string parameter;  // the command's parameter, by its declared name: "rope_offset"
  std::string place;      // the location in the file ("header"). Without a file, the subject of the
                          // error: "stdout", a model, a routine
  std::optional<std::int64_t> layer;
  std::string problem;              // what is wrong, and what was expected
  std::vector<std::string> beside;  // parameters that cannot be combined with `parameter`
  std::string hint;                 // how to fix it
};

/// Returns a front end's spelling of a parameter: `--rope-offset` for "rope_offset".
using SpellParameter = std::function<std::string(std::string_view name)>;

/// Returns `text` with its braces doubled, so that a problem or hint shows it unchanged.
std::string verbatim(std::string_view text);

/// Returns `text` with each `{name}` replaced by the front end's spelling.
std::string spell_parameters(std::string_view text, const SpellParameter& spell);

/// Returns "WHERE: PROBLEM (HINT)" on one line, without empty parts. Parts may contain names from
/// files: control bytes are escaped, and long names are shortened.
std::string error_text(const ErrorParts& parts, const SpellParameter& spell);

/// Ends the command. what() spells parameters by their declared names.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, ErrorParts parts);
  /// An error about a location that is neither a file nor a parameter.
  Error(ErrorKind kind, std::string_view place, std::string_view problem,
        std::string_view hint = "");

  ErrorKind kind() const { return kind_; }
  const ErrorParts& parts() const { return parts_; }

 private:
  ErrorKind kind_;
  ErrorParts parts_;
};

/// The command was stopped on request. This is not a failure.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped"; }
};

}  // namespace attnscope
