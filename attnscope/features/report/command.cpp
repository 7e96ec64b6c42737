// `report`: writes one HTML report, or every chart as a file.
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/options/device_options.h"
#include "attnscope/features/common/options/example_options.h"
#include "attnscope/features/common/options/media_options.h"
#include "attnscope/features/common/options/prompts_file.h"
#include "attnscope/features/common/options/target_options.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/options/token_sequences.h"
#include "attnscope/features/report/run.h"
#include "attnscope/page/chart_files.h"
#include "attnscope/page/template.h"

namespace attnscope {
namespace {

using enum ParameterType;
using Clock = std::chrono::steady_clock;

namespace fs = std::filesystem;

/// Prints the notes of the file, such as skipped parts.
void print_notes(const ReportFile& file, const Session& session) {
  if (!session.on_note) return;
  for (const std::string& note : file.notes()) session.on_note(verbatim(note));
}

void check_writes_pages() {
  if (!page_template().empty()) return;
  throw Error(ErrorKind::unsupported,
              {.place = "report",
               .problem = "this build cannot write reports: it was built without Node",
               .hint = "install Node 18 or newer with npm, then rebuild"});
}

/// Creates the folder of `--charts` unless it exists; its parent must exist. Throws Error(io)
/// before the analysis if the folder is not writable.
void make_chart_folder(const Arguments& arguments) {
  const fs::path folder = arguments.text("charts");
  const auto refuse = [&](const std::string& problem, const std::string& why) {
    throw Error(ErrorKind::io, {.file = folder.string(), .problem = problem + ": " + why});
  };
  std::error_code failed;
  fs::create_directory(folder, failed);
  if (failed) refuse("cannot create the folder", failed.message());
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    refuse(
        "folder is not "
        "writable",
        std::strerror(errno));
}

/// Writes every chart as NAME.vl.json and NAME.svg into the folder. Other files in the folder are
/// kept.
void write_charts(const Arguments& arguments, const Session& session, const ReportFile& file,
                  double seconds) {
  const fs::path folder = arguments.text("charts");
  const auto charts = chart_files(charts_script(), file, seconds, session.context.stop);
  for (const ChartFile& chart : charts) {
    session.write_file(folder / (chart.name + ".vl.json"), chart.vega_lite);
    session.write_file(folder / (chart.name + ".svg"), chart.svg);
  }
  if (!session.on_note) return;
  session.on_note(verbatim(folder.string()) + ": " +
                  counted(charts.size(), "chart, as", "charts, each as") + " .vl.json and .svg");
}

void write(const Arguments& arguments, const Session& session, std::ostream& out) {
  const bool page = arguments.given("out"), charts = arguments.given("charts");
  if (page) check_writes_pages();
  if (charts) check_draws_charts(charts_script());
  const auto start = Clock::now();
  ReportRun run(arguments, session);
  if (charts) make_chart_folder(arguments);
  const ReportFile file = run.run();
  print_notes(file, session);
  const std::chrono::duration<double> took = Clock::now() - start;
  if (charts) write_charts(arguments, session, file, took.count());
  if (page) file.write(page_template(), took.count(), out);
}

std::vector<std::string> view_names() {
  return {"overview",  "spectra", "heads", "ablation",   "prompts", "weights", "similarity",
          "attention", "experts", "plan",  "difference", "models",  "data"};
}

Parameter report_prompts() {
  return prompts_parameter(
      "also patch activations between clean and corrupted prompts, and measure the logit "
      "difference: each component, each position, and paths between layers (slow for large models)",
      OptionGroup::own);
}

Parameters own_parameters() {
  constexpr std::int64_t kMostPlaces = 1'000'000;
  return {{.name = "maps",
           .type = head,
           .help = "show this head's attention map at full size, even if not all maps fit",
           .metavariable = "HEAD"},
          {.name = "out",
           .type = file,
           .group = OptionGroup::output,
           .help = "write the HTML report to FILE atomically",
           .letter = 'o',
           .metavariable = "FILE",
           .missing = "missing output",
           .missing_hint = "pass {out} report.html, or a folder with {charts} charts",
           .not_needed_with = "charts",
           .use = FileUse::written,
           .endings = {".html", ".htm"}},
          {.name = "charts",
           .type = file,
           .group = OptionGroup::output,
           .help = "write every chart as NAME.vl.json (Vega-Lite) and NAME.svg into this folder",
           .metavariable = "DIR",
           .use = FileUse::folder,
           .endings = {".vl.json", ".svg"}},
          {.name = "view",
           .type = choice,
           .help = "view of the page that opens first",
           .metavariable = "VIEW",
           .choices = view_names(),
           .default_words = "overview, or attention with {layer} or {head}"},
          {.name = "layer",
           .type = integer,
           .help = "layer that this view selects first",
           .metavariable = "N",
           .least = -kMostPlaces,
           .most = kMostPlaces},
          {.name = "head",
           .type = integer,
           .help = "head that this view selects first; its attention map is shown at full size",
           .metavariable = "N",
           .least = 0,
           .most = kMostPlaces},
          {.name = "plan_text",
           .type = file,
           .help = "also compare compression methods, calibrated on this text",
           .metavariable = "FILE"},
          {.name = "head_sets",
           .type = flag,
           .help = "also ablate more and more heads together, and pairs of the 12 heads with the "
                   "largest effects (slow)"},
          report_prompts(),
          {.name = "patch_positions",
           .type = text,
           .help = "with {prompts}: patch these positions separately, such as last, 3,7 or -3-",
           .metavariable = "POSITIONS",
           .default_words = "each"},
          {.name = "base",
           .type = text,
           .help = "also compare each model with this base model",
           .metavariable = "MODEL"},
          {.name = "quiet",
           .type = flag,
           .group = OptionGroup::output,
           .help = "no warnings, notes or progress"}};
}

}  // namespace

Command report_command() {
  return {.name = "report",
          .summary = "Write a self-contained HTML report",
          .examples = {{{"models", "examples/shakespeare-gpt2"}, {"out", "report.html"}},
                       {{"models", "MODEL"}, {"text_file", "book.txt"}, {"out", "report.html"}},
                       {{"models", "MODEL"}, {"models", "OTHER"}, {"out", "both.html"}},
                       {{"models", "MODEL"},
                        {"text", "Good night."},
                        {"target", "Gute Nacht."},
                        {"out", "report.html"}},
                       {{"models", "MODEL"},
                        {"text_file", "en.txt"},
                        {"target_file", "de.txt"},
                        {"out", "report.html"}},
                       {{"models", "examples/shakespeare-gpt2"},
                        {"prompts", "examples/prompts.jsonl"},
                        {"out", "report.html"}},
                       {{"models", "MODEL"}, {"image", "cat.jpg"}, {"out", "report.html"}},
                       {{"models", "MODEL"}, {"charts", "charts"}}},
          .parameters = joined({model_parameters(), text_parameters(), pair_parameters(),
                                window_parameters(), example_parameters(), media_parameters(),
                                work_parameters(), device_parameters(), own_parameters()}),
          .exclusions = joined_exclusions(
              media_exclusions({}),
              joined_exclusions(joined_exclusions(text_exclusions(/*with_windows=*/true),
                                                  example_exclusions(/*with_windows=*/true)),
                                line_target_exclusions())),
          .write = write};
}

}  // namespace attnscope
