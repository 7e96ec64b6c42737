// What a decoder's text begins with, where nobody gives one. Source: transformers 5.23,
// WhisperGenerationMixin._retrieve_init_tokens() for decoders of sound.
#pragma once

#include <span>

#include "attnscope/base/model_inputs.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/model.h"

namespace attnscope {

struct DecoderPrompt {
  /// The start token; of a decoder of sound the language, task and other tokens that its files
  /// name. Empty where they say no start token.
  TokenIds tokens = {};
  /// Those of which the likeliest after the start token is to be the second one, in place of the
  /// one that stands there; ascending. Empty: the prompt is whole.
  TokenIds languages = {};
};

/// Of generation_config.json beside the checkpoint, else of its config.json. Throws Error(format)
/// where a key has another kind of value.
DecoderPrompt decoder_prompt(const Model& decoder);

/// The prompt's tokens with the likeliest of its languages. `encoder_output`: of the one sound.
TokenIds with_language(const ForwardPass& decoder, const DecoderPrompt& prompt,
                       const EncoderOutput& encoder_output, const Compute& compute);

}  // namespace attnscope
