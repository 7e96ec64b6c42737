// What clients of a running server send to be run, and the models that are run on it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/features/report/inputs.h"

namespace attnscope {

/// In the arguments of a run, what was sent in place of a file's name, which no request can say.
inline constexpr const char* kSentFile = "FILE";
/// In a request in place of `attention`'s text_file: what such a file holds.
inline constexpr const char* kLongText = "long_text";

/// A client's request to run a text, image or sound.
struct TextRequest {
  std::optional<std::size_t> model;  // index; none: all
  Arguments text;                    // of `attention`: what is run, layers
  bool exclude_first_token = false;  // also ranks and columns without key 0
  std::string sent = {};             // bytes of kSentFile: a long text, an image or a sound
};

/// A client's request to fit smaller models to a text, and to measure them on its last tenth.
struct CalibrationRequest {
  std::optional<std::size_t> model;  // index; none: all that read texts
  std::string text;
};

/// `session` for a job that reads `sent` in the place of kSentFile.
Session with_sent_text(const Session& session, const std::string& sent);

/// `error` about the parameter by which the file was sent, where it is about kSentFile.
Error of_sent(const Error& error, const std::string& parameter);

/// The parameter of a request by which its text, picture or sound was sent.
std::string sent_parameter(const Arguments& run);

/// A model that is to be run, on a text or not at all.
struct ChosenModel {
  ReportModel model;
  std::optional<ModelText> text = {};  // none: it has no tokens of the text
  std::optional<Error> error = {};     // why the model cannot be run; none: it can
};

/// Of several models those that read such; with a target all stacks of the one that is named.
std::vector<ChosenModel> chosen_models(std::span<const ReportModel> models,
                                       const TextRequest& request, const Session& session);

/// Throws Error(usage) where the maps of all their heads are too large.
void check_map_sizes(std::span<const ChosenModel> chosen);

}  // namespace attnscope
