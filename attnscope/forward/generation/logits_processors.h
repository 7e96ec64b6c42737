// What an encoder-decoder's files say of the text that it writes, where each token is the likeliest
// that they allow. Source: transformers 5.23, generate(do_sample=False, num_beams=1), the logits
// processors of generation/logits_process.py.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// Tokens are counted with those of the decoder's prompt.
struct GenerationRules {
  std::optional<std::int64_t> start;          // with which a decoder's text begins
  std::optional<std::int64_t> forced_first;   // the token after that
  std::optional<std::int64_t> forced_last;    // the last token of as many as are asked for
  TokenIds suppressed, suppressed_first;      // never written; not written first
  std::vector<TokenIds> banned;               // runs of tokens that are not written
  TokenIds ends;                              // after which the text is over
  std::int64_t least = 0, least_written = 0;  // tokens before one of these may come
  std::int64_t repeated = 0;                  // runs of so many tokens come once; 0: any may again
  double penalty = 1;                         // of tokens that the text has
  std::int64_t beams = 1;                     // which are not searched
  bool times = false;                         // among a text's words, whose rules are not kept
};

/// Of generation_config.json beside the checkpoint, else of its config.json. `ends`: see
/// end_tokens(). Throws Error(format) where a key has another kind of value.
GenerationRules generation_rules(const Model& model, TokenIds ends);

/// Changes the logits of the token after `text`, of which the first `prompt` tokens were given and
/// up to `most` are written: those of tokens that may not follow become −infinity.
void apply_rules(const GenerationRules& rules, std::span<const std::int64_t> text,
                 std::int64_t prompt, std::int64_t most, std::span<float> logits);

}  // namespace attnscope
