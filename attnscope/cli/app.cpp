#include "attnscope/cli/app.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "attnscope/checkpoint/bus_error_guard.h"
#include "attnscope/cli/arguments.h"
#include "attnscope/cli/command.h"
#include "attnscope/cli/interrupt.h"
#include "attnscope/cli/output_target.h"
#include "attnscope/core/error.h"
#include "attnscope/core/text.h"

namespace attnscope {
namespace {

constexpr std::array kCommands = {
    Command{"info", "facts of models, and every tensor with its role",
            "  attnscope info examples/shakespeare-gpt2\n"
            "  attnscope info --system",
            set_up_info},
    Command{
        "spectrum", "singular values and ranks of every projection, layer and head",
        "  attnscope spectrum examples/shakespeare-llama\n"
        "  attnscope spectrum MODEL --matrix qk,ov --per-head --energy 0.9,0.99 --format csv\n"
        "  attnscope spectrum MODEL --layers 0-3,-4- --format json --values --out spectra.json\n"
        "  attnscope spectrum examples/shakespeare-llama examples/shakespeare-gpt2 --matrix q,k\n"
        "  attnscope spectrum MODEL --matrix kv --rank 512,0.1D\n"
        "  attnscope spectrum MODEL --mla\n"
        "  attnscope spectrum MODEL --store rows.sqlite",
        set_up_spectrum},
    Command{"weights", "moments, quantiles and histograms of every projection, layer and head",
            "  attnscope weights examples/shakespeare-llama\n"
            "  attnscope weights MODEL --per-head --format csv --out weights.csv\n"
            "  attnscope weights MODEL --histogram --bins fd --matrix q,k --format json",
            set_up_weights},
    Command{"similarity", "cosines between the weight vectors of heads, and duplicate heads",
            "  attnscope similarity examples/shakespeare-llama\n"
            "  attnscope similarity MODEL --overlap --layers 0\n"
            "  attnscope similarity MODEL --histogram --bins fd --matrix q --format json\n"
            "  attnscope similarity MODEL --head-matrix 0,3 --matrix q --format csv",
            set_up_similarity},
    Command{"matrix", "one matrix in canonical orientation, as the analyses see it",
            "  attnscope matrix MODEL --layer 0 --matrix q\n"
            "  attnscope matrix MODEL --layer 3 --matrix qk --head 2 --out qk.npy",
            set_up_matrix},
    Command{"circuits", "what the circuits QK and OV of layers and heads do",
            "  attnscope circuits examples/shakespeare-llama\n"
            "  attnscope circuits MODEL --fold-norm --rope-offset -1 --circuit qk\n"
            "  attnscope circuits MODEL --composition --format csv --out pairs.csv",
            set_up_circuits},
    Command{"export", "the rows that --store kept",
            "  attnscope export rows.sqlite --format csv --out rows.csv\n"
            "  attnscope export rows.sqlite --command spectrum --model shakespeare-llama",
            set_up_export},
    Command{"explain", "what a field of a report means, or all of them",
            "  attnscope explain energy_rank\n"
            "  attnscope explain --schema",
            set_up_explain},
    Command{"completion", "completions for a shell, or the manual page",
            "  attnscope completion bash > ~/.local/share/bash-completion/completions/attnscope",
            set_up_completion},
};

int fail(std::string_view message, int code) {
  std::fprintf(stderr, "attnscope: error: %.*s\n", static_cast<int>(message.size()),
               message.data());
  return code;
}

/// "--rope-offset" for the parameter "rope_offset".
std::string flag_of(std::string_view parameter) {
  std::string flag = "--" + std::string(parameter);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

[[noreturn]] void refuse(const std::string& where, const std::string& problem) {
  throw Error(ErrorKind::usage, where, problem);
}

/// A mistyped command, said with the one that was meant.
void check_command(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().starts_with('-')) return;
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  for (const std::string& name : names) {
    if (name == arguments.front()) return;
  }
  refuse(arguments.front(), "no such command" + suggestion(arguments.front(), names) +
                                "; commands: " + join(names) + " (see attnscope --help)");
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

/// Puts `--option value` together as `--option=value`, so that values may begin with a dash
/// (`--layers -4-`), and refuses options that `app` does not have.
std::vector<std::string> join_values(const CLI::App& app,
                                     const std::vector<std::string>& arguments) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  std::vector<std::string> joined;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    std::string argument = arguments[at];
    if (argument == "--") {
      joined.insert(joined.end(), arguments.begin() + static_cast<std::ptrdiff_t>(at),
                    arguments.end());
      break;
    }
    if (argument.size() < 2 || argument.front() != '-') {
      joined.push_back(std::move(argument));
      continue;
    }
    const std::string name = argument.substr(0, argument.find('='));
    const CLI::Option* option = app.get_option_no_throw(name);
    if (option == nullptr) {
      const CLI::App* parent = app.get_parent();
      const std::string command = parent == nullptr ? "attnscope" : "attnscope " + app.get_name();
      refuse(name, "no such option of '" + command + "'" + suggestion(name, known) + " (see " +
                       command + " --help)");
    }
    const bool takes_value = option->get_items_expected_min() > 0;
    if (takes_value && name == argument) {
      if (at + 1 == arguments.size()) refuse(name, "needs a value");
      // CLI11 takes `--name=value` for long names only.
      argument = "--" + option->get_lnames().front() + "=" + arguments[++at];
    }
    joined.push_back(std::move(argument));
  }
  return joined;
}

int dispatch(std::vector<std::string> arguments) {
  check_command(arguments);
  CLI::App app("attnscope opens a transformer checkpoint and says what its attention does.",
               "attnscope");
  app.set_version_flag("--version", "attnscope " ATTNSCOPE_VERSION);
  app.set_help_flag("-h,--help", "this text");
  app.footer("Each command has its own help: attnscope spectrum --help");
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, std::function<int()>>> actions;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    sub->set_help_flag("-h,--help", "this text");
    sub->footer(std::string("Examples:\n") + command.examples);
    actions.emplace_back(sub, command.set_up(*sub));
  }

  try {
    if (arguments.empty()) {
      std::fputs(app.help().c_str(), stderr);
      return exit_code(ErrorKind::usage);
    }
    if (const CLI::App* chosen = find_command(app, arguments.front())) {
      const std::vector<std::string> own(arguments.begin() + 1, arguments.end());
      std::vector<std::string> joined = join_values(*chosen, own);
      joined.insert(joined.begin(), arguments.front());
      arguments = std::move(joined);
    } else {
      arguments = join_values(app, arguments);
    }
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // CLI11's order
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // help and version
      OutputTarget().write([&](std::ostream& out) { app.exit(error, out, out); });
      return 0;
    }
    std::string problem = error.what();
    refuse("command line", problem.substr(0, problem.find('\n')));
  }
  kernels_of_environment();  // refused before anything is done
  for (const auto& [sub, action] : actions) {
    if (sub->parsed()) return action();
  }
  return 0;
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  stop_on_interrupt();
  install_bus_error_guard();
  try {
    return dispatch({argv + std::min(argc, 1), argv + argc});
  } catch (const Error& error) {
    return fail(error_text(error.parts(), flag_of), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return fail("memory: not enough for this model (try a smaller --memory or fewer --threads)",
                exit_code(ErrorKind::io));
  } catch (const std::exception& error) {
    return fail(std::string("internal: ") + printable(error.what()) + " (please report this)", 1);
  }
}

}  // namespace attnscope
