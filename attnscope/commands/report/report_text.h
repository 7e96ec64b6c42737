// Which text the models of a report are run on.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "attnscope/commands/report/report_model.h"

namespace attnscope {

/// Parameters of `report` that name a text, and which part of it is run.
inline constexpr std::array<std::string_view, 7> kTextParameters = {
    "text", "text_file", "tokens", "token_file", "sequences", "length", "sample"};

bool text_is_given(const Arguments& report);

/// Throws Error where the file of a text cannot be read: that is no model's fault.
void check_text_file(const Arguments& report);

/// The text of a report that was given none.
struct UsualText {
  ReportModel model;  // with the text among its arguments
  std::string note;   // how much of the text it is, where that is not all
};

/// For one model, the text or as much of it from its start as the model has positions and tokens
/// for. Throws Error where the model is not run on it: it cannot be run, it has no tokenizer or a
/// broken one, or the tokenizer does not know most of the text.
UsualText usual_text(const ReportModel& model);

/// With a text that the model can be run on in place of the one that was given, of ids where it
/// needs to be; nothing where there is none.
std::optional<ReportModel> with_some_text(const ReportModel& model);

}  // namespace attnscope
