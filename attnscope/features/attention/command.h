// What `attention` asks for, for those who have tokens already.
#pragma once

#include "attnscope/features/attention/run.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/options/token_sequences.h"
#include "attnscope/features/common/repeated_tokens.h"

namespace attnscope {

/// What the arguments of `attention` ask for, without sequences. Throws Error(usage).
AttentionRequest attention_request(const Arguments& arguments);

/// Adds the sequences of the next model, and a note where its tokenizer knows little of the text.
void add_sequences(AttentionRequest& request, TokenSequences sequences, RowSink& sink);

}  // namespace attnscope
