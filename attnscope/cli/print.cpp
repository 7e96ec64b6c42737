#include "attnscope/cli/print.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "attnscope/cli/command_line.h"
#include "attnscope/cli/output_target.h"
#include "attnscope/cli/progress_line.h"
#include "attnscope/commands/common.h"
#include "attnscope/core/error.h"
#include "attnscope/core/text.h"
#include "attnscope/output/npy.h"
#include "attnscope/output/writers.h"

namespace attnscope {
namespace {

void say(const char* kind, const std::string& text) {
  std::fprintf(stderr, "attnscope: %s: %s\n", kind, printable(text).c_str());
}

bool wants_color(const OutputTarget& target) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return target.is_terminal() && !dumb && (no_color == nullptr || *no_color == '\0');
}

ProgressMode progress_mode(const Arguments& arguments) {
  const std::string mode = arguments.text("progress");
  if (mode == "always") return ProgressMode::always;
  const bool never = mode == "never" || (mode.empty() && arguments.flag("quiet"));
  return never ? ProgressMode::never : ProgressMode::automatic;
}

void refuse_output_into_store(const Arguments& arguments) {
  const std::string store = arguments.text("store"), out = arguments.text("out");
  if (store.empty() || out.empty()) return;
  const auto place = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(path, ignored);
  };
  if (place(store) != place(out)) return;
  throw Error(ErrorKind::usage,
              {.parameter = "store",
               .problem = "'" + store + "' is also where {out} writes; name another file"});
}

/// What was written appears, unless a stop was asked for.
void commit(OutputTarget& target, const Session& session) {
  if (session.stop.stop_requested()) throw Stopped();
  target.commit();
}

int print_array(const Command& command, const Arguments& arguments, const Session& session) {
  if (arguments.given("format")) {
    throw Error(ErrorKind::usage,
                {.parameter = "format", .problem = "a .npy file has its own format"});
  }
  OutputTarget target(arguments.text("out"));
  write_npy(command.array(arguments, session), target.stream());
  commit(target, session);
  return 0;
}

const Format& find_format(const std::string& name) {
  for (const Format& format : formats()) {
    if (format.name == name) return format;
  }
  throw Error(ErrorKind::unsupported, name, "no such format");
}

Report make_report(const Command& command, const Arguments& arguments, Session session) {
  ProgressLine line(command.name, progress_mode(arguments));
  session.on_progress = [&](const Progress& progress) { line.show(progress); };
  return command.run(arguments, session);
}

int print_report(const Command& command, const Arguments& arguments, const Session& session) {
  OutputTarget target(arguments.text("out"));
  const Report report = make_report(command, arguments, session);
  if (!arguments.flag("quiet")) {
    for (const std::string& note : report.notes) {
      say("note", spell_parameters(note, spelling(command)));
    }
  }
  WriteOptions options{.color = wants_color(target)};
  options.width = target.terminal_width().value_or(options.width);
  find_format(arguments.text("format")).write(report, options, target.stream());
  commit(target, session);
  if (!report.rows.empty() || report.skipped.empty()) return 0;
  throw Error(ErrorKind::numerical, report.skipped.front().model,
              "no matrix could be analysed (" + report.skipped.front().reason + ")");
}

}  // namespace

int run_command(const Command& command, const Arguments& arguments, std::stop_token stop) {
  if (command.print != nullptr) {
    OutputTarget target;
    command.print(arguments, target.stream());
    target.commit();
    return 0;
  }
  refuse_output_into_store(arguments);
  Session session{.resources = resources_of(arguments), .stop = std::move(stop)};
  if (!arguments.flag("quiet")) {
    session.on_warning = [](const std::string& warning) { say("warning", warning); };
  }
  const bool array = command.array != nullptr && arguments.text("out").ends_with(".npy");
  return array ? print_array(command, arguments, session)
               : print_report(command, arguments, session);
}

}  // namespace attnscope
