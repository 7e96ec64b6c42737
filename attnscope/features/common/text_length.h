// The maximum length of a text for a model, and the note about longer texts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Number of tokens that the model was made for: limited by its positions and its context. Very
/// large if neither is limited.
std::int64_t context_of(const ForwardPass& pass);

/// Note about a text that is longer than the model's context but still runs; otherwise empty.
std::string past_context_note(const ForwardPass& pass, std::int64_t tokens);

/// Adds that note for the longest text, and for a decoder also for its longest source.
std::vector<std::string> past_context_notes(const ForwardPass& pass, const BatchInputs& inputs);
void note_past_context(const ForwardPass& pass, const BatchInputs& inputs, RowSink& sink);

/// The same for texts that are predicted. `sources`: for a decoder, which does not run the last
/// token of a target; otherwise empty.
void note_past_context(const ForwardPass& pass, const std::vector<TokenIds>& sequences,
                       const std::vector<TokenIds>& sources, RowSink& sink);

}  // namespace attnscope
