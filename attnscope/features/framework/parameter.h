// What a command takes, as data, from which the command line makes flags, help and completions, and
// other front ends what they need.
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
  receiver,  // "L5H3", or one of its inputs, "L5H3.q": HeadInput
  shares,    // "0.9,0.99", between 0 and 1: std::vector<double>, ascending, each once
  ranks,     // "512,0.1D": std::vector<Rank>, each once
  bins,      // "80" or "fd": BinCount
  range,     // "-0.8,0.8": ValueRange
  text,      // std::string
  file,      // a path: std::string
  models,    // paths of folders or weights files: std::vector<std::string>
};

/// What a run does with the file that a parameter names.
enum class FileUse {
  read,
  written,  // replaced when the run is over
  store,    // SQLite's: read and written in place, with files of its own beside it
  folder,   // files are written into it
};

/// How many bins: a number, or as many as the rule of Freedman and Diaconis gives.
struct BinCount {
  bool freedman_diaconis = false;
  std::int64_t bins = 0;
};

/// The value of a parameter; its ParameterType says which of these it holds.
using ParameterValue =
    std::variant<bool, std::int64_t, std::uint64_t, std::string, Role, std::vector<Role>,
                 LayerSelection, HeadIndex, HeadInput, std::vector<double>, std::vector<Rank>,
                 BinCount, ValueRange, std::vector<std::string>>;

/// In its texts `{name}` stands for another parameter, which each front end spells its own way.
struct Parameter {
  std::string name;  // bare and in snake_case: "rope_offset"
  ParameterType type = ParameterType::flag;
  std::string help;          // a line, without choices and default; may be empty beside choices
  bool positional = false;   // named by its place on a command line
  char letter = 0;           // a short name, of what is named often; 0: none
  std::string metavariable;  // stands for the value in help; empty for flags
  std::vector<std::string> choices;
  std::int64_t least = 0, most = 0;  // of an integer
  std::string default_text;          // its value where it is not given; empty: it has none
  std::string default_words;         // what help says instead of `default_text`
  std::string implied_text;          // its value where only its name is given; empty: it needs one
  std::string noun;           // what each choice is: "format"; empty: choices are only listed
  std::string rejected_role;  // of roles: the error for one that is no choice; `*` is its name.
                              // Empty: the choices are named
  std::string missing;        // the error where it is not given; empty: it need not be
  std::string missing_hint;
  std::string not_needed_with;       // another parameter: where that is given, it need not be
  FileUse use = FileUse::read;       // of a file
  std::vector<std::string> endings;  // by which one that is written is known: ".csv"
};

/// Parameters that have no meaning beside another one.
struct Exclusion {
  std::string parameter;
  std::vector<std::string> beside;
  std::string reason;  // "names one tensor"
};

/// "table, csv or json", "of q,k,v"; empty where there are no choices.
std::string choices_text(const Parameter& parameter);

/// Choices, help and default in one line.
std::string full_help(const Parameter& parameter);

/// Whether a list of choices may be given, parted by commas.
constexpr bool takes_list(ParameterType type) {
  return type == ParameterType::roles || type == ParameterType::several;
}

}  // namespace attnscope
