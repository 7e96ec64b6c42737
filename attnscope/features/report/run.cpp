#include "attnscope/features/report/run.h"

#include <ctime>

#include "attnscope/base/error.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/features/common/options/media_options.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/directions/run.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/report/inputs.h"
#include "attnscope/features/report/matrix_images.h"
#include "attnscope/features/report/models.h"
#include "attnscope/features/report/sections.h"
#include "attnscope/features/report/sections_on_prompts.h"
#include "attnscope/features/report/sections_on_text.h"
#include "attnscope/features/report/skipped.h"

namespace attnscope {
namespace {

bool has_too_many_heads(const Model& model) {
  constexpr std::int64_t kMaxCompositionHeads = 256;
  return model.dimensions().layers * model.dimensions().heads.heads > kMaxCompositionHeads;
}

/// Why this section takes too long for a report; empty if it does not. The model must have the
/// section.
const char* why_too_long(const std::string& id, const Model& model) {
  constexpr double kCheap = 2e12;  // FLOPs: a few seconds
  if (id == "composition" && has_too_many_heads(model)) return "too slow for this many head pairs";
  if (id == kDirections && directions_flops(model, DirectionsRequest().directions) > kCheap) {
    return "too slow for this many tokens";
  }
  return "";
}

/// Whether the error is a usage error or comes from an unreadable image or audio file.
bool is_of_input(const Error& error, const Model& model) {
  if (error.kind() == ErrorKind::usage) return true;
  const bool of_file = error.kind() == ErrorKind::io || error.kind() == ErrorKind::format;
  return of_file && input_kind(model) != InputKind::text;
}

}  // namespace

ReportRun::ReportRun(const Arguments& arguments, const Session& session)
    : arguments_(arguments),
      models_(open_models(arguments, session)),
      session_(with_open_models(session, arguments, models_)),
      reports_(report_models(arguments, models_, session)),
      file_(empty_report(arguments, models_, session)) {
  check_places();
  check_inputs(arguments, session_, models_);
}

ReportFile ReportRun::run() {
  run_on_prompts();
  run_on_texts();
  for (const std::string& id : analysis_ids()) {
    for (const ReportModel& model : reports_) {
      if (is_of_model(id, model.model)) run_analysis(id, model);
    }
  }
  for (const ReportModel& model : reports_) run_asked(model);
  add_matrix_images(models_, arguments_.layers("layers"), session_, file_);
  return std::move(file_);
}

/// Throws a usage error for layers and heads that a model does not have.
void ReportRun::check_places() const {
  for (const ReportModel& model : reports_) {
    const std::int64_t layers = model.model.dimensions().layers;
    arguments_.layers("layers").resolve(layers, model.model.name());
    named_head(model);
  }
}

/// The section of the report. `directions` gets the text, if one was given, to test its candidate
/// tokens.
ReportPart ReportRun::part_of(const std::string& id, const ReportModel& model) const {
  const auto on_text = on_given_text_.find(model.model.name());
  const bool reads_it = id == kDirections && on_text != on_given_text_.end();
  return reads_it ? read_part(on_text->second) : analysis_part(id, model);
}

void ReportRun::run_analysis(const std::string& id, const ReportModel& model) {
  try {
    const ReportPart part = part_of(id, model);
    const std::string why = why_too_long(id, model.model);
    if (!why.empty()) {
      return file_.add_left_out(
          {.part = id, .model = part.model, .why = why, .command = part_line(part, session_)});
    }
    fill_part(part, session_, file_);
  } catch (const Error& error) {
    leave_out(id, model, error, session_, file_);
  }
}

void ReportRun::run_asked(const ReportModel& model) {
  for (const ReportPart& part : asked_parts(model)) {
    try {
      fill_part(part, session_, file_);
    } catch (const Error& error) {
      leave_out(part.id, model, error, session_, file_);
    }
  }
}

/// Likewise runs each model, on the prompts with answers. If all models fail, throws the first
/// error.
void ReportRun::run_on_prompts() {
  if (!arguments_.given("prompts")) {
    if (!arguments_.given("patch_positions")) return;
    throw Error(ErrorKind::usage,
                {.parameter = "patch_positions", .problem = "requires {prompts}"});
  }
  std::optional<Error> first;
  std::size_t failed = 0;
  for (const ReportModel& model : reports_) {
    try {
      PromptsRun(model, session_).add(file_);
    } catch (const Error& error) {
      ++failed;
      if (!first) first = error;
      for (const char* id : {kAblatePrompts, kAblatePatching, kAblatePath}) {
        leave_out(id, model, error, session_, file_);
      }
    }
  }
  if (first && failed == reports_.size()) throw *first;
}

/// Runs each model independently, so that one failure does not affect the others. If all models
/// fail on the given input, throws the first usage or media file error.
void ReportRun::run_on_texts() {
  std::optional<Error> at_fault;
  std::size_t asked = 0, failed = 0;
  for (const ReportModel& model : reports_) {
    const bool is_asked = input_is_given(arguments_, model.model);
    asked += is_asked ? 1 : 0;
    try {
      run_on_text(model);
    } catch (const Error& error) {
      if (is_asked) ++failed;
      if (is_asked && !at_fault && is_of_input(error, model.model)) at_fault = error;
      leave_out_text(model, error, session_, file_);
    }
  }
  if (at_fault && failed == asked) throw *at_fault;
}

void ReportRun::run_on_text(const ReportModel& model) {
  if (model.not_run) throw *model.not_run;
  const bool given = input_is_given(arguments_, model.model);
  TextRun run(given ? given_text(model, session_) : usual_text(model), session_);
  run.add_rows_and_maps({.models = reports_.size()}, file_);
  run.add_without_first(file_);
  run.add_routing(file_);
  run.add_lens(file_);
  run.add_ablations(TextRun::Effort::cheap, file_);
  if (arguments_.flag("head_sets")) run.add_head_sets(file_);
  if (names_a_text(model.arguments) && run.has_text_correlations()) {
    on_given_text_.emplace(model.model.name(), run.for_names());
  }
}

namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace

ReportFile empty_report(const Arguments& report, std::span<const Model> models,
                        const Session& session, bool live) {
  std::vector<Record> facts;
  for (const Model& model : models) {
    facts.push_back(facts_record(summarize(model)));
    const InputKind kind = input_kind(model);
    facts.back().add("reads", noun_of(kind));
    if (live && kind == InputKind::text && takes_pairs(model)) facts.back().add("pairs", true);
  }
  ReportFile file({{"version", ATTNSCOPE_VERSION},
                   {"created", utc_now()},
                   {"command", report_line(report, session)},
                   {"thresholds", std::vector<double>{0.6, 0.8, 0.9, 0.99}}},
                  std::move(facts));
  if (models.empty()) return file;
  const std::string opened = opened_state(report, models.front().dimensions());
  if (!opened.empty()) file.add_about("open", opened);
  return file;
}

}  // namespace attnscope
