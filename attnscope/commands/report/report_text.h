// Which text the models of a report are run on.
#pragma once

#include <string>

#include "attnscope/commands/report/report_models.h"

namespace attnscope {

bool text_is_given(const Arguments& report);

/// The text, file or ids that a report was given, as arguments of `attention`.
Example given_text(const Arguments& report);

/// Throws Error where the file of a text cannot be read: that is no model's fault.
void check_text_file(const Arguments& report);

/// The text of a report that was given none.
struct UsualText {
  Example arguments;  // of `attention`
  std::string note;   // how much of it there is, where that is not all
};

/// For one model, the text or as much of it from its start as the model has positions and tokens
/// for. Throws Error where the model is not run on it: it cannot be run, it has no tokenizer or a
/// broken one, or the tokenizer does not know most of the text.
UsualText usual_text(const ReportModel& model);

/// A text that the model can be run on, of ids where it needs to be; empty where there is none.
Example some_text(const ReportModel& model);

}  // namespace attnscope
