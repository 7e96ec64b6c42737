// Parameters of a command as data. The command line derives flags, help and completions from them;
// other front ends use them too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attnscope/base/role.h"
#include "attnscope/features/framework/selections.h"
#include "attnscope/numerics/statistics/histogram.h"

namespace attnscope {

enum class ParameterType {
  flag,      // given or not: bool
  integer,   // from `least` to `most`: std::int64_t
  bytes,     // "2G", a size of memory: std::uint64_t
  choice,    // one of `choices`: std::string
  several,   // some of them, each once: std::vector<std::string>
  role,      // one of `choices`, which are names of roles: Role
  roles,     // several of them, each once: std::vector<Role>
  layers,    // "0-3,-4-": LayerSelection
  head,      // "L5H3", "5.3" or "5,3": HeadIndex
  heads,     // "L5H3,L6H0" or "5.3,6.0": std::vector<HeadIndex>, each once
  receiver,  // "L5H3", inputs of heads, "L5H3.q,L6H0.k", or "logits": std::vector<HeadInput>
  shares,    // "0.9,0.99", between 0 and 1: std::vector<double>, ascending, each once
  ranks,     // "512,0.1D": std::vector<Rank>, each once
  bins,      // "80" or "fd": BinCount
  range,     // "-0.8,0.8": ValueRange
  text,      // std::string
  texts,     // may be repeated: std::vector<std::string>
  file,      // a path: std::string
  models,    // paths of folders or weights files: std::vector<std::string>
};

/// How a run uses the file that a parameter names.
enum class FileUse {
  read,
  written,  // replaced at the end of the run
  store,    // SQLite file: read and written in place, with SQLite's own files next to it
  folder,   // files are written into it
};

/// Group of an option in help.
enum class OptionGroup { mode, own, input, output, performance };

/// Number of bins: fixed, or by the Freedman–Diaconis rule.
struct BinCount {
  bool freedman_diaconis = false;
  std::int64_t bins = 0;
};

/// The value of a parameter; ParameterType defines which alternative it holds.
using ParameterValue =
    std::variant<bool, std::int64_t, std::uint64_t, std::string, Role, std::vector<Role>,
                 LayerSelection, HeadIndex, std::vector<HeadIndex>, std::vector<HeadInput>,
                 std::vector<double>, std::vector<Rank>, BinCount, ValueRange,
                 std::vector<std::string>>;

/// In the texts, `{name}` stands for another parameter, which each front end spells in its own
/// form.
struct Parameter {
  std::string name;  // in snake_case: "rope_offset"
  ParameterType type = ParameterType::flag;
  OptionGroup group = OptionGroup::own;
  std::string help;          // one line, without choices and default; may be empty
  bool positional = false;   // identified by its position on the command line
  char letter = 0;           // short name of a common parameter; 0: none
  std::string metavariable;  // stands for the value in help; empty for flags
  std::vector<std::string> choices;
  std::int64_t least = 0, most = 0;  // range of an integer
  std::string default_text;          // default value; empty: none
  std::string default_words;         // text that help shows instead of `default_text`
  std::string implied_text;          // value if only the name is given; empty: a value is required
  std::string noun;                  // noun for a choice: "format"; empty: choices are only listed
  std::string rejected_role;         // error for a role that is not a choice; `*` is its name.
                                     // Empty: the error lists the choices.
  std::string missing;               // error if the parameter is missing; empty: it is optional
  std::string missing_hint;
  std::string not_needed_with;       // another parameter that makes this one optional
  FileUse use = FileUse::read;       // how a file is used
  std::vector<std::string> endings;  // allowed file extensions of an output: ".csv"
};

/// Parameters that cannot be combined with another one.
struct Exclusion {
  std::string parameter;
  std::vector<std::string> beside;
  std::string reason;  // "analyzes a single tensor"
};

/// "table, csv or json", "one or more of q,k,v"; empty if there are no choices.
std::string choices_text(const Parameter& parameter);

/// Help, choices and default in one line.
std::string full_help(const Parameter& parameter);

/// Whether the parameter may be given several times.
constexpr bool is_repeatable(ParameterType type) {
  return type == ParameterType::models || type == ParameterType::texts;
}

/// Whether a comma-separated list of choices is accepted.
constexpr bool takes_list(ParameterType type) {
  return type == ParameterType::roles || type == ParameterType::several;
}

}  // namespace attnscope
