// `report`: everything about models in one HTML file, or chart by chart.
#include <algorithm>
#include <chrono>

#include "attnscope/commands/chart_folder.h"
#include "attnscope/commands/report_run.h"
#include "attnscope/commands/text_parameters.h"
#include "attnscope/core/error.h"
#include "attnscope/forward/tokenizer.h"
#include "attnscope/page/chart_files.h"
#include "attnscope/page/template.h"

namespace attnscope {
namespace {

using enum ParameterType;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMostCompositionHeads = 256;

class ReportRun {
 public:
  ReportRun(const Arguments& arguments, const Session& session)
      : arguments_(arguments),
        models_(open_models(arguments, session)),
        session_(with_open_models(session, arguments, models_)),
        file_(empty_report(arguments, models_, session)) {}

  /// The text first: what is wrong with it is known before the long work.
  ReportFile run() {
    if (has_text()) run_on_text();
    for (const ReportPart& part : weight_parts(arguments_, models_)) {
      if (part.id == "composition" && has_too_many_heads()) {
        file_.add_left_out(part.id, "composition: pairs of so many heads take long",
                           command_line_of(part, session_));
      } else {
        run_part(part, session_, file_);
      }
    }
    add_images(models_, arguments_.layers("layers"), session_, file_);
    return std::move(file_);
  }

 private:
  bool has_too_many_heads() const {
    return std::any_of(models_.begin(), models_.end(), [](const Model& model) {
      return model.dimensions().layers * model.dimensions().heads.heads > kMostCompositionHeads;
    });
  }

  bool text_is_given() const {
    for (const char* name : {"text", "text_file", "tokens", "token_file"}) {
      if (arguments_.given(name)) return true;
    }
    return false;
  }

  /// Without a text that was asked for, models that cannot read one are no fault.
  bool has_text() {
    if (text_is_given()) return true;
    for (const Model& model : models_) {
      std::string why = "no tokenizer beside the model";
      try {
        if (Tokenizer::find(model.checkpoint().folder())) continue;
      } catch (const Error& error) {
        why = error.what();
      }
      Example again = report_example(arguments_);
      again.emplace_back("tokens", "464,3290");
      file_.add_left_out("attention", "attention on text: " + verbatim(model.name() + ": " + why),
                         session_.example_line(find_command_named("report"), again));
      return false;
    }
    return true;
  }

  void run_on_text() {
    const std::vector<ReportPart> parts = text_parts(arguments_);
    try {
      run_text({.report = arguments_, .models = models_, .part = parts.front()}, session_, file_);
    } catch (const Error& error) {
      if (text_is_given() && error.kind() == ErrorKind::usage) throw;
      return file_.add_left_out("attention", "attention on text: " + verbatim(error.what()),
                                command_line_of(parts.front(), session_));
    }
    for (std::size_t at = 1; at < parts.size(); ++at) run_part(parts[at], session_, file_);
  }

  const Arguments& arguments_;
  std::vector<Model> models_;
  Session session_;
  ReportFile file_;
};

void check_writes_pages() {
  if (!page_template().empty()) return;
  throw Error(ErrorKind::unsupported,
              {.place = "report",
               .problem = "this build has no page: it was made without Node",
               .hint = "install Node 18 or newer with npm, and build again"});
}

void write(const Arguments& arguments, const Session& session, std::ostream& out) {
  const bool page = arguments.given("out"), charts = arguments.given("charts");
  if (page) check_writes_pages();
  if (charts) check_draws_charts(charts_script());
  const auto start = Clock::now();
  ReportRun run(arguments, session);
  if (charts) make_chart_folder(arguments);
  const ReportFile file = run.run();
  const std::chrono::duration<double> took = Clock::now() - start;
  if (charts) write_charts(arguments, session, file, took.count());
  if (page) file.write(page_template(), took.count(), out);
}

Parameters own_parameters() {
  return {{.name = "maps",
           .type = head,
           .help = "where not all maps fit, keep that of this head whole",
           .metavariable = "L,H"},
          {.name = "out",
           .type = file,
           .help = "the HTML file, replaced in one step",
           .letter = 'o',
           .metavariable = "FILE",
           .missing = "name the file to write",
           .missing_hint = "for example: {out} report.html; or a folder: {charts} charts",
           .unless = "charts"},
          {.name = "charts",
           .type = file,
           .help = "every chart as NAME.vl.json (Vega-Lite) and NAME.svg, in this folder",
           .metavariable = "DIR"},
          {.name = "quiet", .type = flag, .help = "no warnings, notes or progress"}};
}

}  // namespace

Command report_command() {
  return {.name = "report",
          .summary = "everything about models on one page, an HTML file that needs nothing else",
          .examples = {{{"models", "examples/shakespeare-gpt2"}, {"out", "report.html"}},
                       {{"models", "MODEL"}, {"text_file", "book.txt"}, {"out", "report.html"}},
                       {{"models", "MODEL"}, {"models", "OTHER"}, {"out", "both.html"}},
                       {{"models", "MODEL"}, {"charts", "charts"}}},
          .parameters = joined({model_parameters(), text_parameters(), window_parameters(),
                                work_parameters(), own_parameters()}),
          .exclusions = text_exclusions(/*with_windows=*/true),
          .write = write};
}

}  // namespace attnscope
