// A prompt of a model, and its tokens in rows.
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

/// The tokens of a prompt of one model.
struct Prompt {
  TokenIds tokens;                       // for an encoder-decoder: decoder tokens
  TokenIds source = {};                  // for an encoder-decoder: encoder tokens
  std::optional<MediaInput> audio = {};  // replaces `source`
  TokenIds languages = {};               // see DecoderPrompt, whose tokens are in `tokens`
  const Tokenizer* tokenizer = nullptr;  // null: tokens have ids but no text
};

/// The message role of a token of a chat; null if it is unknown.
inline Value role_value(const TokenIds& tokens, std::size_t at) {
  return tokens.roles[at].empty() ? Value() : Value(tokens.roles[at]);
}

/// The text of a token; null if the tokenizer does not know it.
inline Value token_value(const Tokenizer* tokenizer, std::int64_t id) {
  if (tokenizer == nullptr || !tokenizer->spelling(id)) return {};
  return tokenizer->text(id);
}

/// Adds the fields of a predicted token: "token_id", "text", "logit", "probability".
inline void add_predicted(Record& row, const Tokenizer* tokenizer, const TokenScore& score) {
  row.add("token_id", score.token);
  row.add("text", token_value(tokenizer, score.token));
  row.add("logit", score.logit);
  row.add("probability", score.probability);
}

/// Observes the run of a prompt. Its functions are called on the thread that runs the prompt; an
/// exception ends the run.
struct PromptWatcher {
  /// Called before the run. `tokens`: empty for images and audio. `rows`: number of rows of the
  /// states.
  std::function<void(const ForwardPass&, const TokenIds& tokens, std::int64_t rows)> begin;
  ForwardObserver observer;
  ForwardObserver encoder_observer = {};  // for encoder-decoders, whose encoder runs first
  /// Called with the logits of all tokens, block by block; not called for models without logits.
  /// May be empty, like the callbacks of the observers.
  std::function<void(MatrixView<const float>)> on_logits;
  std::function<void()> end;
};

}  // namespace attnscope
