#include "attnscope/cli/app.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/bus_error_guard.h"
#include "attnscope/cli/command_line.h"
#include "attnscope/cli/help.h"
#include "attnscope/cli/output_target.h"
#include "attnscope/cli/run_command.h"
#include "attnscope/cli/signals.h"
#include "attnscope/numerics/kernel_choice.h"

namespace attnscope {
namespace {

using Words = std::vector<std::string>;

int print_error(std::string_view message, int code) {
  std::fprintf(stderr, "attnscope: error: %.*s\n", static_cast<int>(message.size()),
               message.data());
  return code;
}

int print_text(const std::string& text) {
  OutputTarget target;
  target.stream() << text;
  target.commit();
  return 0;
}

/// Handles options that precede a command: help and version.
int run_program_option(const Words& words) {
  const std::string& word = words.front();
  if (word == "--version") return print_text("attnscope " ATTNSCOPE_VERSION "\n");
  if (word == "-h" || word == "--help") {
    const Command* command = words.size() > 1 ? find_command(all_commands(), words[1]) : nullptr;
    return print_text(command == nullptr ? program_help() : command_help(*command));
  }
  const std::string name = word.substr(0, word.find('='));
  const Words known = {"--help", "--version"};
  throw Error(
      ErrorKind::usage, name,
      "unknown option of 'attnscope'" + suggestion(name, known) + " (see attnscope --help)");
}

[[noreturn]] void refuse_command(const std::string& name) {
  Words names;
  for (const Command& command : all_commands()) names.push_back(command.name);
  throw Error(ErrorKind::usage, name,
              "unknown command" + suggestion(name, names) + "; available: " + join(names) +
                  " (see attnscope --help)");
}

int dispatch(const Words& words, const OpenLive& open_live, std::stop_token stop) {
  if (words.empty()) {
    std::fputs(program_help().c_str(), stderr);
    return exit_code(ErrorKind::usage);
  }
  if (words.front().starts_with('-')) return run_program_option(words);
  const Command* command = find_command(all_commands(), words.front());
  if (command == nullptr) refuse_command(words.front());
  try {
    const auto arguments = parse_words(*command, std::span(words).subspan(1));
    if (!arguments) return print_text(command_help(*command));
    run_command(*command, *arguments, kernels_of_environment(), open_live, std::move(stop));
    return 0;
  } catch (const Error& error) {
    return print_error(error_text(error.parts(), spelling(*command)), exit_code(error.kind()));
  }
}

int run(const Words& words, const OpenLive& open_live, SignalWatch& signals) {
  try {
    return dispatch(words, open_live, signals.stop_token());
  } catch (const Stopped&) {
    return signals.exit_code();
  } catch (const Error& error) {
    return print_error(error_text(error.parts(), flag_of), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return print_error("out of memory (try a smaller --memory or fewer --threads)",
                       exit_code(ErrorKind::io));
  } catch (const std::exception& error) {
    return print_error(
        std::string("internal: ") + printable(error.what()) + " (please report this)", 1);
  }
}

}  // namespace

int run_command_line(int argc, const char* const* argv, const OpenLive& open_live) {
  SignalWatch signals;
  install_bus_error_guard();
  return run({argv + std::min(argc, 1), argv + argc}, open_live, signals);
}

}  // namespace attnscope
