// `predict` on an image or sound.
#pragma once

#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/features/framework/command.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// The image or sound that a model is run on. Throws Error(usage) if there are several.
MediaInput media_input_of(const Arguments& arguments, const Session& session, const Model& model);

/// Runs models that read images or sound and write no text. `opened`: all that the arguments name,
/// among which are those that read the captions of an image.
void run_on_media(const Arguments& arguments, const Session& session,
                  const std::vector<Model>& models, const std::vector<Model>& opened,
                  RowSink& sink);

}  // namespace attnscope
