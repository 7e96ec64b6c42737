// Default prompt of a decoder. Reference: transformers 5.23,
// WhisperGenerationMixin._retrieve_init_tokens() for audio models.
#pragma once

#include <span>

#include "attnscope/base/model_inputs.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/model.h"

namespace attnscope {

struct DecoderPrompt {
  /// The start token. For audio models also the language, task and other tokens that the files
  /// name. Empty if the files do not name a start token.
  TokenIds tokens = {};
  /// Language tokens, ascending. The most likely one after the start token replaces the second
  /// token of the prompt. Empty: the prompt is complete.
  TokenIds languages = {};
};

/// Reads generation_config.json next to the checkpoint, or else config.json. Throws Error(format)
/// if a key has a value of the wrong type.
DecoderPrompt decoder_prompt(const Model& decoder);

/// Returns the prompt's tokens with the most likely of its languages. `encoder_output`: for the
/// single audio input.
TokenIds with_language(const ForwardPass& decoder, const DecoderPrompt& prompt,
                       const EncoderOutput& encoder_output, const Compute& compute);

}  // namespace attnscope
