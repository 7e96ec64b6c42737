// Text that a model writes: the likeliest token, again and again.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/inputs/text/tokenizer.h"

namespace attnscope {

/// Ids after which generated text ends: `eos_token_id`, a number or a list, of
/// generation_config.json beside the checkpoint, else of its config.json, else the tokenizer's;
/// none where nobody says. `tokenizer` may be null. Throws Error(format) where it is something
/// else.
std::vector<std::int64_t> end_tokens(const Model& model, const Tokenizer* tokenizer);

/// The token that follows `text`, by its logits, which it may change.
using ChooseToken =
    std::function<std::int64_t(std::span<float> logits, std::span<const std::int64_t> text)>;

/// The largest one; of equally large logits the smaller id.
std::int64_t most_likely_token(std::span<const float> logits);

struct Generated {
  enum class Ended {
    by_count,
    by_end_token,  // which is the last of `tokens`
    by_context,    // the model has no positions for more
  };
  TokenIds tokens;  // after those of the prompt
  Ended ended = Ended::by_count;
};

/// Up to `count` tokens after those of `text`, which is the cache of a prompt's run and has room
/// for them; `first` is the one that follows, as its logits say. `choose`: most_likely_token()
/// where it is empty. A step runs one token, but for those where can_continue() does not hold.
/// `on_token` is called with each as soon as it is known. Throws what that throws, and as run() and
/// logits() of the pass do.
Generated generate_greedily(const ForwardPass& pass, KeyValueCache& text, std::int64_t first,
                            std::int64_t count, std::span<const std::int64_t> ends,
                            const std::function<void(std::int64_t)>& on_token,
                            const Compute& compute, const ChooseToken& choose = {});

}  // namespace attnscope
