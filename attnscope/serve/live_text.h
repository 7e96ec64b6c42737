// Inputs sent by clients of a running server, and the models that run on them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/features/report/inputs.h"

namespace attnscope {

/// Stands for sent data in place of a file name in the arguments of a run. No request can contain
/// this name.
inline constexpr const char* kSentFile = "FILE";
/// Request parameter with the contents of `attention`'s text_file.
inline constexpr const char* kLongText = "long_text";

/// A client's request to run a text, image or audio file.
struct TextRequest {
  std::optional<std::size_t> model;  // index; none: all
  Arguments text;                    // arguments of `attention`: input and layers
  bool exclude_first_token = false;  // also ranks and columns excluding the first token
  std::string sent = {};             // bytes of kSentFile: a long text, an image or audio
};

/// A client's request to calibrate compressed models on a text, and to evaluate them on its last
/// tenth.
struct CalibrationRequest {
  std::optional<std::size_t> model;  // index; none: all that accept text
  std::string text;
};

/// `session` for a job in which kSentFile contains `sent`.
Session with_sent_text(const Session& session, const std::string& sent);

/// An error about kSentFile, reworded to name the parameter that sent the file.
Error of_sent(const Error& error, const std::string& parameter);

/// The request parameter that sent the text, image or audio.
std::string sent_parameter(const Arguments& run);

/// A model that is selected to run, with its text or the reason why it cannot run.
struct ChosenModel {
  ReportModel model;
  std::optional<ModelText> text = {};  // none: no tokens of the text for it
  std::optional<Error> error = {};     // why the model cannot run; none: it can
};

/// Selects the models that accept the input; with a target, all stacks of the named model.
std::vector<ChosenModel> chosen_models(std::span<const ReportModel> models,
                                       const TextRequest& request, const Session& session);

/// Throws Error(usage) if the maps of all heads are too large.
void check_map_sizes(std::span<const ChosenModel> chosen);

}  // namespace attnscope
