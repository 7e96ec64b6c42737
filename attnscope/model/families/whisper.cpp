// Whisper: BART's layers over audio frames; keys have no biases. Source: huggingface/transformers,
// models/whisper/modeling_whisper.py.
#include "attnscope/model/families/bart_marian_pegasus_m2m100.h"
#include "attnscope/model/families/encoder_decoder.h"

namespace attnscope {

Architecture whisper() {
  using enum Role;
  constexpr BartSizes kTiny = {.layers = 4, .heads = 6, .mlp_width = 1536};
  const BartNorms norms = {.of_inputs = true};
  Architecture whole = of_stacks("whisper", "Whisper",
                                 {bart_stack("encoder", kTiny, norms),
                                  bart_stack("decoder", kTiny, norms), bart_cross(kTiny, norms)});
  for (Architecture& stack : whole.stacks) {
    stack.keys.width.fallback = 384;
    stack.embedding.times_sqrt_width = {"", false};
    stack.biases = {{{query, value, output}}};
    if (stack.has_mlp)
      stack.biases.front().roles.insert(stack.biases.front().roles.end(), {up, down});
  }
  Architecture &encoder = whole.stacks[0], &decoder = whole.stacks[1];
  encoder.keys.vocabulary = {};
  encoder.keys.context = {"max_source_positions", 1500};
  encoder.embedding.tokens.clear();
  encoder.others = {{"convolution", "encoder.conv1.*"}, {"convolution", "encoder.conv2.*"}};
  encoder.audio = AudioRule{.of_waves = false,
                            .features = {"num_mel_bins", 80},
                            .kernels = {"", {3, 3}},
                            .strides = {"", {1, 2}},
                            .padding = 1,
                            .place = "encoder.conv{number}",
                            .first_number = 1};
  decoder.keys.context = {"max_target_positions", 448};
  decoder.embedding.tokens = "decoder.embed_tokens.weight";
  decoder.head = {.weight = {"proj_out.weight"}};
  whole.stacks[2].keys.context = decoder.keys.context;
  return whole;
}

}  // namespace attnscope
