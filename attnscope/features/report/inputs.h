// The inputs of a report: texts, images or audio.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/options/token_sequences.h"
#include "attnscope/features/report/models.h"

namespace attnscope {

/// Parameters of `report` that name the input and select a part of it.
inline constexpr std::array<std::string_view, 24> kInputParameters = {"text",
                                                                      "text_pair",
                                                                      "token_types",
                                                                      "text_file",
                                                                      "tokens",
                                                                      "token_file",
                                                                      "sequences",
                                                                      "length",
                                                                      "seed",
                                                                      "consecutive",
                                                                      "target",
                                                                      "target_tokens",
                                                                      "target_file",
                                                                      "image",
                                                                      "pixel_values",
                                                                      "audio",
                                                                      "features",
                                                                      "lines",
                                                                      "score_positions",
                                                                      "chat",
                                                                      "chat_template",
                                                                      "no_generation_prompt",
                                                                      "chat_date",
                                                                      "no_special_tokens"};

/// Whether the kind of input that the model takes is given.
bool input_is_given(const Arguments& report, const Model& model);

/// Throws Error if a text file cannot be read, or if no model takes the given kind of input.
void check_inputs(const Arguments& report, const Session& session,
                  const std::vector<Model>& models);

/// The input of one model.
struct ModelText {
  ReportModel model;      // with the text in its arguments
  TokenSequences tokens;  // of the text
  std::string note = {};  // a note about the text; may be empty
};

/// The input in the model's arguments. `sent`: the bytes of the image or audio file if already
/// available. Throws Error if the model cannot take this input or cannot be run.
ModelText given_text(const ReportModel& model, const Session& session,
                     const std::string& sent = "");

/// The default text of a report. It is cut to the positions and vocabulary of the model, with a
/// note. Throws Error if the model cannot be run, has no working tokenizer, or its tokenizer does
/// not know most of the text.
ModelText usual_text(const ReportModel& model);

/// The model with another text that it can be run on, as token ids if necessary. Empty if there is
/// none.
std::optional<ReportModel> with_some_text(const ReportModel& model);

}  // namespace attnscope
