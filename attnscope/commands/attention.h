// What `attention` asks for, for those who have tokens already.
#pragma once

#include "attnscope/analyses/attention.h"
#include "attnscope/commands/text_parameters.h"
#include "attnscope/commands/token_sequences.h"

namespace attnscope {

/// What the arguments of a command ask for that runs random tokens twice. Throws Error(usage).
InductionRequest induction_request(const Arguments& arguments);

/// Throws Error(unsupported) where random tokens twice over are no text for one of them: that reads
/// no tokens, or has a source with its target.
void check_repeats_tokens(const std::vector<Model>& models);

/// What the arguments of `attention` ask for, without sequences. Throws Error(usage).
AttentionRequest attention_request(const Arguments& arguments);

/// Adds the sequences of the next model, and a note where its tokenizer knows little of the text.
void add_sequences(AttentionRequest& request, TokenSequences sequences, RowSink& sink);

}  // namespace attnscope
