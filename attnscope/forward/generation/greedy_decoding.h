// Greedy decoding: repeatedly appends the most likely token.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/inputs/text/tokenizer.h"

namespace attnscope {

/// Returns the ids that end generated text: `eos_token_id` (a number or a list) of
/// generation_config.json next to the checkpoint, else of config.json, else of the tokenizer. Empty
/// if none is specified. `tokenizer` may be null. Throws Error(format) if the value is neither a
/// number nor a list of ids.
std::vector<std::int64_t> end_tokens(const Model& model, const Tokenizer* tokenizer);

/// Chooses the token that follows `text` from its logits, which it may modify.
using ChooseToken =
    std::function<std::int64_t(std::span<float> logits, std::span<const std::int64_t> text)>;

/// Returns the token with the largest logit. Ties go to the smaller id.
std::int64_t most_likely_token(std::span<const float> logits);

struct Generated {
  enum class Ended {
    by_count,
    by_end_token,  // it is the last of `tokens`
    by_context,    // the model has no more positions
  };
  TokenIds tokens;  // generated tokens, without the prompt
  Ended ended = Ended::by_count;
};

/// Generates up to `count` tokens after those of `text`, the cache of a prompt's run, which must
/// have room for them. `first`: the first token, already chosen from the prompt's logits. `choose`:
/// most_likely_token() if empty. A step runs one token, or the whole text if can_continue() is
/// false. `on_token` is called with each token as soon as it is known. Throws like `on_token`,
/// run() and logits(). `hooks`: of the runs of generated tokens; may be null.
Generated generate_greedily(const ForwardPass& pass, KeyValueCache& text, std::int64_t first,
                            std::int64_t count, std::span<const std::int64_t> ends,
                            const std::function<void(std::int64_t)>& on_token,
                            const Compute& compute, const ChooseToken& choose = {},
                            ForwardHooks* hooks = nullptr);

}  // namespace attnscope
