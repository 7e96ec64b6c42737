// How long a text may be for a model, and the note about one that is longer than its context.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// The most tokens of a text that the model was made for: no more than its positions and its
/// context. If neither is limited, a very large number.
std::int64_t context_of(const ForwardPass& pass);

/// What a user should know of a text that is longer than the model's context and still runs; else
/// empty.
std::string past_context_note(const ForwardPass& pass, std::int64_t tokens);

/// That note about the longest text, and of a decoder about its longest source.
std::vector<std::string> past_context_notes(const ForwardPass& pass, const BatchInputs& inputs);
void note_past_context(const ForwardPass& pass, const BatchInputs& inputs, RowSink& sink);

/// The same about texts that are predicted. `sources`: of a decoder, which does not run the last
/// token of a target; else none.
void note_past_context(const ForwardPass& pass, const std::vector<TokenIds>& sequences,
                       const std::vector<TokenIds>& sources, RowSink& sink);

}  // namespace attnscope
