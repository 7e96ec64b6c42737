// Which stacks of encoder-decoders a command runs, by what its arguments say of targets.
#pragma once

#include <string>
#include <vector>

#include "attnscope/features/framework/arguments.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Whether a model needs a target: it is a decoder that has an encoder, or its cross attention.
bool needs_target(const Model& model);

/// Throws Error(usage) for a target if none of the models is a stack of an encoder-decoder.
void check_targets(const std::vector<Model>& models, const Arguments& arguments);

/// Whether it is a stack of an encoder-decoder.
bool is_of_encoder_decoder(const Model& model);

/// Throws Error(unsupported) if a parameter for a single text is given for an encoder-decoder.
void check_single_texts(const std::vector<Model>& models, const std::string& parameter);

/// Without the stacks that need a target, if none is given, and a note of them. Throws Error(usage)
/// if no stack is left, or if no stack takes the target that is given.
std::vector<Model> stacks_with_targets(std::vector<Model> models, const Arguments& arguments,
                                       RowSink& sink);

/// One model of each: of an encoder-decoder its decoder, which runs the others.
std::vector<Model> without_helping_stacks(std::vector<Model> models);

}  // namespace attnscope
