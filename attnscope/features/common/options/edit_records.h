// The JSON file of the option `edits`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/features/framework/session.h"
#include "attnscope/interventions/edits_from_run.h"

namespace attnscope {

/// One record of the file.
struct EditRecord {
  std::vector<ActivationEdit> edits = {};  // empty: they need a run of the model
  RunEdit wanted = {};
  std::optional<std::string> text = {};  // of that run; empty: its tokens, image or audio
  TokenIds tokens = {};
  std::optional<std::string> target = {};  // for a decoder with an encoder; empty: its tokens
  TokenIds target_tokens = {};
  std::string media = {}, media_file = {};  // one of kMediaParameters, and its file
};

/// Reads the file, and the files that it names. Throws Error(format) for a file in another format,
/// and the errors of edits_from_file().
std::vector<EditRecord> read_edits(const std::string& file, const Session& session);

}  // namespace attnscope
