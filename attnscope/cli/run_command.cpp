#include "attnscope/cli/run_command.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/cli/command_line.h"
#include "attnscope/cli/output_target.h"
#include "attnscope/cli/progress_line.h"
#include "attnscope/features/framework/file_extensions.h"
#include "attnscope/features/framework/session.h"
#include "attnscope/rows/npy.h"
#include "attnscope/rows/writers.h"

namespace attnscope {
namespace {

void say(const char* kind, const std::string& text) {
  std::fprintf(stderr, "attnscope: %s: %s\n", kind, printable(text).c_str());
}

bool wants_color(const OutputTarget& target) {
  const char* no_color = std::getenv("NO_COLOR");
  return target.is_terminal() && !is_dumb_terminal() && (no_color == nullptr || *no_color == '\0');
}

ProgressMode progress_mode(const Arguments& arguments) {
  const std::string mode = arguments.text("progress");
  if (mode == "always") return ProgressMode::always;
  const bool never = mode == "never" || (mode.empty() && arguments.flag("quiet"));
  return never ? ProgressMode::never : ProgressMode::automatic;
}

/// Commits the output unless a stop was requested.
void commit(OutputTarget& target, const Session& session) {
  if (session.context.stop.stop_requested()) throw Stopped();
  target.commit();
}

void print_array(const Command& command, const Arguments& arguments, const Session& session) {
  if (arguments.given("format")) {
    throw Error(ErrorKind::usage,
                {.parameter = "format", .problem = "a .npy file has a fixed format"});
  }
  OutputTarget target(arguments.text("out"));
  write_npy(command.array(arguments, session), target.stream());
  commit(target, session);
}

/// Whether the terminal announces more than 256 colors.
bool has_true_color() {
  const char* colors = std::getenv("COLORTERM");
  const std::string_view named = colors == nullptr ? "" : colors;
  return named == "truecolor" || named == "24bit";
}

const Format& find_format(const std::string& name) {
  for (const Format& format : formats()) {
    if (format.name == name) return format;
  }
  throw Error(ErrorKind::unsupported, name, "unknown format");
}

/// Forwards rows to a writer, and records what stderr and the exit code depend on.
class Watched : public RowSink {
 public:
  explicit Watched(RowSink& writer) : writer_(writer) {}

  void begin(const ReportHead& head) override { writer_.begin(head); }
  void add_row(Record row) override {
    any_row_ = true;
    writer_.add_row(std::move(row));
  }
  void add_skipped(Skipped skipped) override {
    if (!first_skipped_) first_skipped_ = skipped;
    writer_.add_skipped(std::move(skipped));
  }
  void add_note(std::string note) override { notes_.push_back(std::move(note)); }
  void end() override { writer_.end(); }

  const std::vector<std::string>& notes() const { return notes_; }

  /// Throws Error(numerical) if everything was skipped.
  void check_any() const {
    if (any_row_ || !first_skipped_) return;
    throw Error(ErrorKind::numerical, first_skipped_->model, "no matrix could be analyzed",
                first_skipped_->reason);
  }

 private:
  RowSink& writer_;
  bool any_row_ = false;
  std::optional<Skipped> first_skipped_;
  std::vector<std::string> notes_;
};

/// Output of a command: its report and its additional files, which appear together or not at all.
struct Output {
  OutputTarget report;
  std::deque<OutputTarget> beside;
};

/// Runs `work` in a session that shows progress and opens additional files. `text` shows the text
/// that a model generates; null if it is not shown separately.
void run_for(Output& output, const Command& command, const Arguments& arguments, Session session,
             WrittenText* text, const std::function<void(const Session&)>& work) {
  session.open_file = [&](const std::string& path) -> std::ostream& {
    return output.beside.emplace_back(path).stream();
  };
  ProgressLine line(command.name, progress_mode(arguments));
  std::mutex terminal;  // generated text and progress come from different threads
  session.context.on_progress = [&](const Progress& progress) {
    const std::scoped_lock lock(terminal);
    if (text == nullptr || !text->is_shown()) line.show(progress);
  };
  if (text != nullptr) {
    session.on_text = [&](std::string_view piece) {
      const std::scoped_lock lock(terminal);
      if (session.context.stop.stop_requested()) return;
      if (text->is_shown_at_once()) line.clear();
      text->add(piece);
    };
  }
  work(session);
}

void commit(Output& output, const Session& session) {
  for (OutputTarget& file : output.beside) commit(file, session);
  commit(output.report, session);
}

/// Runs a command that writes its own format instead of rows.
void write_own(const Command& command, const Arguments& arguments, const Session& session) {
  Output output{.report = OutputTarget(arguments.text("out")), .beside = {}};
  run_for(output, command, arguments, session, /*text=*/nullptr, [&](const Session& running) {
    command.write(arguments, running, output.report.stream());
  });
  commit(output, session);
}

void print_rows(const Command& command, const Arguments& arguments, const Session& session) {
  Output output{.report = OutputTarget(arguments.text("out")), .beside = {}};
  OutputTarget& report = output.report;
  WriteOptions options{
      .color = wants_color(report), .true_color = has_true_color(), .spell = spelling(command)};
  options.escape_formulas = arguments.flag("csv_escape_formulas");
  options.width = report.terminal_width().value_or(options.width);
  const std::string format = format_of(arguments);
  WrittenText text(report, options.color);
  options.text_is_shown = [&] { return text.is_shown(); };
  const auto writer = find_format(format).make(options, report.stream());
  Watched rows(*writer);
  const bool for_people = format == "table" && arguments.text("out").empty();
  try {
    run_for(output, command, arguments, session, for_people ? &text : nullptr,
            [&](Session running) {
              running.for_people = for_people;
              run_rows(command, arguments, running, rows);
            });
  } catch (const Stopped&) {
    text.break_off();
    throw;
  } catch (...) {
    text.end();
    throw;
  }
  text.end();
  if (!arguments.flag("quiet")) {
    for (const std::string& note : rows.notes()) {
      say("note", spell_parameters(note, spelling(command)));
    }
  }
  commit(output, session);
  rows.check_any();
}

}  // namespace

void run_command(const Command& command, const Arguments& arguments, const Kernels& kernels,
                 const OpenLive& open_live, std::stop_token stop) {
  Session session{.context = context_of(arguments),
                  .files = files_of(command.parameters, arguments),
                  .spell = flag_of,
                  .command_line = command_line_of};
  if (!arguments.given("out")) session.files->add_output("", kStdout);
  session.context.kernels = kernels;
  session.context.stop = std::move(stop);
  session.write_file = [&session](const std::string& path, std::string_view content) {
    OutputTarget target(path);
    target.stream() << content;
    commit(target, session);
  };
  if (!arguments.flag("quiet")) {
    session.on_warning = [&](const ErrorParts& warning) {
      say("warning", error_text(warning, spelling(command)));
    };
    session.on_note = [&](const std::string& note) {
      say("note", spell_parameters(note, spelling(command)));
    };
  }
  session.hub = hub_of_environment(progress_mode(arguments), session.context.stop, session.on_note);
  add_live_run(command, arguments, open_live, session);
  if (command.write != nullptr) return write_own(command, arguments, session);
  const bool array = command.array != nullptr && ending_of(arguments.text("out")) == ".npy";
  (array ? print_array : print_rows)(command, arguments, session);
}

namespace {

constexpr std::string_view kNewLine = "\n  ";

}  // namespace

void WrittenText::add(std::string_view text) {
  std::string lines;
  for (const std::string& line : split(text, '\n'))
    lines += std::string(kNewLine) + printable(line);
  lines.erase(0, kNewLine.size());  // the first line continues the current one
  if (!std::exchange(begun_, true)) {
    lines.insert(0, style_.bold("generated") + std::string(kNewLine));
  }
  if (is_shown_at_once()) {
    target_.write_now(lines);
  } else {
    kept_ += lines;
  }
}

void WrittenText::end() {
  if (is_shown()) target_.write_now("\n\n");
}

void WrittenText::break_off() {
  if (!begun_) return;
  if (is_shown_at_once()) return target_.write_now("\n");
  target_.write_now(kept_ + "\n(interrupted)\n");
}

}  // namespace attnscope
