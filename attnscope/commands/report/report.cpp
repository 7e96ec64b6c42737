// `report`: everything about models in one HTML file, or chart by chart.
#include <chrono>

#include "attnscope/commands/report/chart_folder.h"
#include "attnscope/commands/report/report_maps.h"
#include "attnscope/commands/report/report_run.h"
#include "attnscope/commands/report/report_text.h"
#include "attnscope/commands/text_parameters.h"
#include "attnscope/core/error.h"
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
        reports_(report_models(arguments, models_, session)),
        file_(empty_report(arguments, models_, session)) {
    check_places();
    check_text_file(arguments);
  }

  /// The text first: what is wrong with it is known before the long work.
  ReportFile run() {
    run_on_texts();
    for (const std::string& id : analysis_ids()) {
      for (const ReportModel& model : reports_) run_analysis(id, model);
    }
    add_images(models_, arguments_.layers("layers"), session_, file_);
    return std::move(file_);
  }

 private:
  /// Layers and heads that a model does not have are wrong use.
  void check_places() const {
    for (const ReportModel& model : reports_) {
      const std::int64_t layers = model.model.dimensions().layers;
      arguments_.layers("layers").resolve(layers, model.model.name());
      named_head(model);
    }
  }

  void run_analysis(const std::string& id, const ReportModel& model) {
    try {
      const ReportPart part = analysis_part(id, model);
      if (id == "composition" && has_too_many_heads(model.model)) {
        return file_.add_left_out({.part = id,
                                   .model = part.model,
                                   .why = "pairs of so many heads take long",
                                   .command = command_line_of(part, session_)});
      }
      fill_part(part, session_, file_);
    } catch (const Error& error) {
      leave_out(id, model, error, "", session_, file_);
    }
  }

  static bool has_too_many_heads(const Model& model) {
    return model.dimensions().layers * model.dimensions().heads.heads > kMostCompositionHeads;
  }

  /// Each model for itself: that one cannot be run on the text is no fault of the others. Where
  /// none can be on the text that was asked for, that is wrong use.
  void run_on_texts() {
    std::optional<Error> wrong_use;
    std::size_t failed = 0;
    for (const ReportModel& model : reports_) {
      try {
        run_on_text(model);
      } catch (const Error& error) {
        ++failed;
        if (!wrong_use && error.kind() == ErrorKind::usage) wrong_use = error;
        leave_out_text(model, error, session_, file_);
      }
    }
    const bool nowhere = failed == reports_.size();
    if (nowhere && wrong_use && text_is_given(arguments_)) throw *wrong_use;
  }

  void run_on_text(const ReportModel& model) {
    if (model.not_run) throw *model.not_run;
    UsualText text;
    if (text_is_given(arguments_)) {
      text.arguments = given_text(arguments_);
    } else {
      text = usual_text(model);
    }
    run_text({.model = model, .text = text.arguments, .note = text.note, .models = reports_.size()},
             session_, file_);
    fill_without_first(model, text.arguments, session_, file_);
  }

  const Arguments& arguments_;
  std::vector<Model> models_;
  Session session_;
  std::vector<ReportModel> reports_;
  ReportFile file_;
};

/// What the file lacks, and what else its maker should know.
void say_notes(const ReportFile& file, const Session& session) {
  if (!session.on_note) return;
  for (const std::string& note : file.notes()) session.on_note(verbatim(note));
}

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
  say_notes(file, session);
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
           .unless = "charts",
           .use = FileUse::written,
           .endings = {".html", ".htm"}},
          {.name = "charts",
           .type = file,
           .help = "every chart as NAME.vl.json (Vega-Lite) and NAME.svg, in this folder",
           .metavariable = "DIR",
           .use = FileUse::folder,
           .endings = {".vl.json", ".svg"}},
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
