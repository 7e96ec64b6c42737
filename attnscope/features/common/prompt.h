// A prompt of one model, and how its tokens appear in rows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "attnscope/base/model_inputs.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/logits.h"
#include "attnscope/inputs/text/tokenizer.h"
#include "attnscope/rows/record.h"

namespace attnscope {

/// The tokens of one model's prompt.
struct Prompt {
  TokenIds tokens;                       // of an encoder-decoder those of its decoder
  TokenIds source = {};                  // then: those of its encoder
  std::optional<MediaInput> audio = {};  // in place of `source`
  TokenIds languages = {};               // see DecoderPrompt, whose tokens stand in `tokens`
  const Tokenizer* tokenizer = nullptr;  // null: tokens have ids and no texts
};

/// A token as readable text; null where no tokenizer knows it.
inline Value token_value(const Tokenizer* tokenizer, std::int64_t id) {
  if (tokenizer == nullptr || !tokenizer->spelling(id)) return {};
  return tokenizer->text(id);
}

/// Adds the fields of a token that is foretold: "token_id", "text", "logit", "probability".
inline void add_predicted(Record& row, const Tokenizer* tokenizer, const TokenScore& score) {
  row.add("token_id", score.token);
  row.add("text", token_value(tokenizer, score.token));
  row.add("logit", score.logit);
  row.add("probability", score.probability);
}

/// Sees a prompt run: is told of it before, and of blocks of logits after it. On the thread that
/// runs it; what it throws ends the run.
struct PromptWatcher {
  /// `tokens`: none of an image or sound. `rows`: of its states.
  std::function<void(const ForwardPass&, const TokenIds& tokens, std::int64_t rows)> begin;
  ForwardObserver observer;
  ForwardObserver encoder_observer = {};  // of encoder-decoders, whose encoder runs first
  /// Rows of all tokens, block after block; not called for models without logits.
  std::function<void(MatrixView<const float>)> on_logits;
  std::function<void()> end;
};

}  // namespace attnscope
