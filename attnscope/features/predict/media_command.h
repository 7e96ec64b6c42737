// `predict` on an image or audio file.
#pragma once

#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/features/framework/command.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// The image or audio input of a model. Throws Error(usage) if there are several.
MediaInput media_input_of(const Arguments& arguments, const Session& session, const Model& model);

/// Runs vision and audio models that do not generate text. `opened`: all models in the arguments,
/// including the text stacks for captions.
void run_on_media(const Arguments& arguments, const Session& session,
                  const std::vector<Model>& models, const std::vector<Model>& opened,
                  const Context& context, RowSink& sink);

}  // namespace attnscope
