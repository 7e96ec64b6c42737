// Generation rules of encoder-decoders: each token is the most likely one that the rules allow.
// Reference: transformers 5.23, generate(do_sample=False, num_beams=1) with the logits processors
// of generation/logits_process.py.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// Token counts include the decoder's prompt.
struct GenerationRules {
  std::optional<std::int64_t> start;          // decoder start token
  std::optional<std::int64_t> forced_first;   // token after the start token
  std::optional<std::int64_t> forced_last;    // last token at the maximum length
  TokenIds suppressed, suppressed_first;      // never generated; not generated first
  std::vector<TokenIds> banned;               // forbidden sequences of tokens
  TokenIds ends;                              // tokens that end the text
  std::int64_t least = 0, least_written = 0;  // minimum length before an end token
  std::int64_t repeated = 0;                  // no n-gram of this size repeats; 0: no limit
  double penalty = 1;                         // repetition penalty
  std::int64_t beams = 1;                     // beams requested by the file; not searched
  bool times = false;                         // text has timestamps; their rules are not applied
};

/// Reads generation_config.json next to the checkpoint, or else config.json. `ends`: see
/// end_tokens(). Throws Error(format) if a key has a value of the wrong type.
GenerationRules generation_rules(const Model& model, TokenIds ends);

/// Applies the rules to the logits of the token after `text`: logits of forbidden tokens become
/// −infinity. The first `prompt` tokens of the text were given; at most `most` tokens are
/// generated.
void apply_rules(const GenerationRules& rules, std::span<const std::int64_t> text,
                 std::int64_t prompt, std::int64_t most, std::span<float> logits);

}  // namespace attnscope
