// Which text the models of a report are run on.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "attnscope/commands/report/report_model.h"
#include "attnscope/commands/text_parameters.h"

namespace attnscope {

/// Parameters of `report` that name a text, and which part of it is run.
inline constexpr std::array<std::string_view, 9> kTextParameters = {
    "text",   "text_file", "tokens", "token_file",   "sequences",
    "length", "sample",    "target", "target_tokens"};

bool text_is_given(const Arguments& report);

/// Throws Error where the file of a text cannot be read: that is no model's fault.
void check_text_file(const Arguments& report);

/// What a model is run on.
struct ModelText {
  ReportModel model;      // with the text among its arguments
  TokenSequences tokens;  // of the text
  std::string note = {};  // what a reader should know of the text; may be empty
};

/// The text that the model's arguments name. Throws Error where it has no tokens for the model.
ModelText given_text(const ReportModel& model, const Session& session);

/// The text of a report that was given none, or as much of it from its start as the model has
/// positions and tokens for, which the note says. Throws Error where the model is not run on it: it
/// cannot be run, it has no tokenizer or a broken one, or the tokenizer does not know most of the
/// text.
ModelText usual_text(const ReportModel& model);

/// With a text that the model can be run on in place of the one that was given, of ids where it
/// needs to be; nothing where there is none.
std::optional<ReportModel> with_some_text(const ReportModel& model);

}  // namespace attnscope
