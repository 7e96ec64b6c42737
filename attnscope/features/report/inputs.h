// What the models of a report are run on: texts, images or sound.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/options/token_sequences.h"
#include "attnscope/features/report/models.h"

namespace attnscope {

/// Parameters of `report` that name what is run, and which part of it.
inline constexpr std::array<std::string_view, 17> kInputParameters = {
    "text",         "text_file",   "tokens",   "token_file",    "sequences",      "length",
    "seed",         "consecutive", "target",   "target_tokens", "target_file",    "image",
    "pixel_values", "audio",       "features", "lines",         "score_positions"};

/// Whether a text is named, or with `model` what it reads.
bool text_is_given(const Arguments& report);
bool input_is_given(const Arguments& report, const Model& model);

/// Throws Error where the file of a text cannot be read, which is no model's fault, and where no
/// model reads what is named.
void check_inputs(const Arguments& report, const Session& session,
                  const std::vector<Model>& models);

/// What a model is run on.
struct ModelText {
  ReportModel model;      // with the text among its arguments
  TokenSequences tokens;  // of the text
  std::string note = {};  // what a reader should know of the text; may be empty
};

/// What the model's arguments name of what it reads; `sent`: the bytes of an image's or sound's
/// file where they are at hand. Throws Error where that is nothing for it, or it cannot be run.
ModelText given_text(const ReportModel& model, const Session& session,
                     const std::string& sent = "");

/// The text of a report that was given none, or as much of it from its start as the model has
/// positions and tokens for, which the note says. Throws Error where the model is not run on it: it
/// cannot be run, it has no tokenizer or a broken one, or the tokenizer does not know most of the
/// text.
ModelText usual_text(const ReportModel& model);

/// With a text that the model can be run on in place of the one that was given, of ids where it
/// needs to be; nothing where there is none.
std::optional<ReportModel> with_some_text(const ReportModel& model);

}  // namespace attnscope
