// Selects the stacks of encoder-decoder models that a command runs, depending on the given targets.
#pragma once

#include <string>
#include <vector>

#include "attnscope/features/framework/arguments.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Whether a model needs a target: a decoder with an encoder, or its cross-attention.
bool needs_target(const Model& model);

/// Throws Error(usage) for a target if none of the models is a stack of an encoder-decoder.
void check_targets(const std::vector<Model>& models, const Arguments& arguments);

/// Whether the model is a stack of an encoder-decoder.
bool is_of_encoder_decoder(const Model& model);

/// Throws Error(unsupported) if a parameter for a single text is given for an encoder-decoder.
void check_single_texts(const std::vector<Model>& models, const std::string& parameter);

/// Removes the stacks that need a target if none is given, and adds a note about them. Throws
/// Error(usage) if no stack is left, or if no stack takes the given target.
std::vector<Model> stacks_with_targets(std::vector<Model> models, const Arguments& arguments,
                                       RowSink& sink);

/// Keeps one stack per model: the decoder of an encoder-decoder, which also runs the other stacks.
std::vector<Model> without_helping_stacks(std::vector<Model> models);

}  // namespace attnscope
