#include "attnscope/commands/report/report_run.h"

#include "attnscope/commands/open_models.h"
#include "attnscope/commands/report/empty_report.h"
#include "attnscope/commands/report/left_out.h"
#include "attnscope/commands/report/matrix_images.h"
#include "attnscope/commands/report/report_part.h"
#include "attnscope/commands/report/report_text.h"
#include "attnscope/commands/report/text_run.h"
#include "attnscope/core/error.h"

namespace attnscope {
namespace {

bool has_too_many_heads(const Model& model) {
  constexpr std::int64_t kMaxCompositionHeads = 256;
  return model.dimensions().layers * model.dimensions().heads.heads > kMaxCompositionHeads;
}

}  // namespace

ReportRun::ReportRun(const Arguments& arguments, const Session& session)
    : arguments_(arguments),
      models_(open_models(arguments, session)),
      session_(with_open_models(session, arguments, models_)),
      reports_(report_models(arguments, models_, session)),
      file_(empty_report(arguments, models_, session)) {
  check_places();
  check_text_file(arguments);
}

ReportFile ReportRun::run() {
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

/// Layers and heads that a model does not have are wrong use.
void ReportRun::check_places() const {
  for (const ReportModel& model : reports_) {
    const std::int64_t layers = model.model.dimensions().layers;
    arguments_.layers("layers").resolve(layers, model.model.name());
    named_head(model);
  }
}

void ReportRun::run_analysis(const std::string& id, const ReportModel& model) {
  try {
    const ReportPart part = analysis_part(id, model);
    if (id == "composition" && has_too_many_heads(model.model)) {
      return file_.add_left_out({.part = id,
                                 .model = part.model,
                                 .why = "pairs of so many heads take long",
                                 .command = part_line(part, session_)});
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

/// Each model for itself: that one cannot be run on the text is no fault of the others. Where none
/// can be on the text that was asked for, that is wrong use.
void ReportRun::run_on_texts() {
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

void ReportRun::run_on_text(const ReportModel& model) {
  if (model.not_run) throw *model.not_run;
  const TextRun run(text_is_given(arguments_) ? given_text(model, session_) : usual_text(model),
                    session_);
  run.add_rows_and_maps({.models = reports_.size()}, file_);
  run.add_without_first(file_);
  run.add_routing(file_);
  run.add_worth(file_);
}

}  // namespace attnscope
