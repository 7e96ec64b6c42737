#include "attnscope/cli/command_line.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

#include "attnscope/base/text.h"
#include "attnscope/cli/completion.h"
#include "attnscope/cli/output_target.h"
#include "attnscope/cli/own_commands.h"
#include "attnscope/features/all_commands.h"

namespace attnscope {
namespace {

/// A word that begins with a dash, split at its `=`.
struct Flag {
  std::string name;                  // with its dashes
  std::optional<std::string> value;  // after the `=`
};

Flag take_apart(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) return {word, std::nullopt};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

/// "-o"; empty if the parameter has no letter.
std::string letter_of(const Parameter& parameter) {
  std::string letter;
  if (parameter.letter != 0) letter.append({'-', parameter.letter});
  return letter;
}

[[noreturn]] void refuse(const std::string& place, const std::string& problem) {
  throw Error(ErrorKind::usage, place, problem);
}

const Parameter& find_flag(const Command& command, const std::string& flag) {
  std::vector<std::string> known = {"--help"};
  for (const Parameter& parameter : command.parameters) {
    if (parameter.positional) continue;
    known.push_back(flag_of(parameter.name));
    if (known.back() == flag || flag == letter_of(parameter)) return parameter;
  }
  refuse(flag, "unknown option of 'attnscope " + command.name + "'" + suggestion(flag, known) +
                   " (see attnscope " + command.name + " --help)");
}

using Given = std::map<std::string, ParameterValue>;

/// Adds a value as typed. For a file that is read or written as a stream, `-` means stdin or
/// stdout.
void add_typed(Given& given, const Parameter& parameter, const std::string& word) {
  const bool is_stream = parameter.type == ParameterType::file && word == "-";
  if (is_stream && parameter.use == FileUse::read) {
    add_value(given, parameter, "/dev/stdin");
  } else if (is_stream && parameter.use == FileUse::written) {
    add_value(given, parameter, kStdout);
  } else {
    add_value(given, parameter, word);
  }
}

/// Whether the word is a value that was meant to follow the flag's `=` and is not also the name of
/// something else.
bool is_stray_value(const Parameter& parameter, const std::string& word) {
  std::error_code ignored;
  return closest(word, parameter.choices) && !std::filesystem::exists(word, ignored);
}

/// Whether the file extension of the word shows that it can only be a file.
bool is_known_by_ending(const Parameter& parameter, const std::string& word) {
  return parameter.positional &&
         std::any_of(parameter.endings.begin(), parameter.endings.end(),
                     [&](const std::string& ending) { return word.ends_with(ending); });
}

void add_positional(Given& given, const Command& command, const std::string& word) {
  for (const Parameter& parameter : command.parameters) {
    if (!is_known_by_ending(parameter, word) || given.contains(parameter.name)) continue;
    return add_typed(given, parameter, word);
  }
  for (const Parameter& parameter : command.parameters) {
    if (!parameter.positional) continue;
    const auto earlier = given.find(parameter.name);
    if (earlier != given.end() && parameter.type == ParameterType::text) {
      std::get<std::string>(earlier->second) += " " + word;
      return;
    }
    if (earlier != given.end() && parameter.type != ParameterType::models) continue;
    return add_typed(given, parameter, word);
  }
  refuse(word, "unexpected argument (see attnscope " + command.name + " --help)");
}

/// Returns whether the word after `flag` was its value. `next` is null if there is no such word.
bool add_flag(Given& given, const Parameter& parameter, const Flag& flag, const std::string* next) {
  const auto complain = [&](const std::string& problem) {
    throw Error(ErrorKind::usage, {.parameter = parameter.name, .problem = problem});
  };
  if (parameter.type == ParameterType::flag) {
    if (flag.value) complain("does not take a value");
    add_value(given, parameter, "");
    return false;
  }
  if (!flag.value && !parameter.implied_text.empty()) {
    if (next != nullptr && is_stray_value(parameter, *next)) {
      complain("pass the value after an =: {" + parameter.name +
               "}=" + *closest(*next, parameter.choices));
    }
    add_value(given, parameter, parameter.implied_text);
    return false;
  }
  const std::string* value = flag.value ? &*flag.value : next;
  if (value == nullptr || value->empty()) complain("requires a value");
  add_typed(given, parameter, *value);
  return !flag.value;
}

/// Quotes the text as one shell word: bare if possible, in double quotes if the shell changes
/// nothing inside them, else in single quotes.
std::string quoted(const std::string& text) {
  constexpr std::string_view kPlain = "_-+:,./@%";  // in addition to letters and digits
  const auto is_plain = [&](unsigned char c) {
    return c >= 0x80 || std::isalnum(c) != 0 || kPlain.find(static_cast<char>(c)) != kPlain.npos;
  };
  if (std::all_of(text.begin(), text.end(), is_plain)) return text;
  const bool changes = text.find_first_of("$`\"\\!\n") != std::string::npos;
  return changes ? shell_quoted(text) : '"' + text + '"';
}

/// The name of a model folder may begin with a dash, like a flag.
std::string positional_word(const std::string& text) {
  return quoted(text.starts_with('-') ? "./" + text : text);
}

}  // namespace

std::span<const Command> all_commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> list(commands().begin(), commands().end());
    list.push_back(serve_command());
    list.push_back(explain_command());
    list.push_back(completion_command());
    return list;
  }();
  return all;
}

std::string flag_of(std::string_view parameter) {
  std::string flag = "--" + std::string(parameter);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

SpellParameter spelling(const Command& command) {
  return [&command](std::string_view name) {
    const Parameter* parameter = find_parameter(command, name);
    const bool positional = parameter != nullptr && parameter->positional;
    return positional ? parameter->metavariable : flag_of(name);
  };
}

std::string usage_of(const Parameter& parameter) {
  if (parameter.positional) return parameter.metavariable;
  const std::string letter = letter_of(parameter);
  const std::string name = flag_of(parameter.name);
  const std::string flag = letter.empty() ? name : letter + ", " + name;
  if (parameter.type == ParameterType::flag) return flag;
  if (!parameter.implied_text.empty()) return flag + "[=" + parameter.metavariable + "]";
  return flag + " " + parameter.metavariable;
}

std::string command_line_of(const Command& command, const ArgumentTexts& arguments) {
  std::string line = "attnscope " + command.name;
  for (const auto& [name, text] : arguments) {
    const Parameter& parameter = *find_parameter(command, name);
    if (!parameter.positional) line += " " + flag_of(name);
    if (text.empty()) continue;
    line += parameter.positional ? " " + positional_word(text)
                                 : (parameter.implied_text.empty() ? " " : "=") + quoted(text);
  }
  return line;
}

std::string example_line(const Command& command, const Example& example) {
  const std::string line = command_line_of(command, example.arguments);
  return example.redirected_to.empty() ? line : line + " > " + example.redirected_to;
}

std::optional<Arguments> parse_words(const Command& command, std::span<const std::string> words) {
  Given given;
  bool help = false, only_positional = false;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (only_positional || word.size() < 2 || word.front() != '-') {
      add_positional(given, command, word);
    } else if (word == "--") {
      only_positional = true;
    } else if (word == "-h" || word == "--help") {
      help = true;
    } else {
      const Flag flag = take_apart(word);
      const std::string* next = at + 1 < words.size() ? &words[at + 1] : nullptr;
      if (add_flag(given, find_flag(command, flag.name), flag, next)) ++at;
    }
  }
  if (help) return std::nullopt;
  return Arguments(command.parameters, command.exclusions, std::move(given));
}

}  // namespace attnscope
