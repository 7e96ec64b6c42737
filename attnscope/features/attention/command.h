// The request of `attention`, for callers that already have tokens.
#pragma once

#include "attnscope/features/attention/run.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/options/token_sequences.h"
#include "attnscope/features/common/repeated_tokens.h"

namespace attnscope {

/// The request of the arguments of `attention`, without sequences. Throws Error(usage).
AttentionRequest attention_request(const Arguments& arguments);

/// Adds the sequences of the next model, and a note if most of its tokens are unknown.
void add_sequences(AttentionRequest& request, TokenSequences sequences, RowSink& sink);

}  // namespace attnscope
