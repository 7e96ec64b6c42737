// Tokens that training never saw, from the weights alone: they lie where those lie that no text can
// have (Land & Bartolo 2024, "Fishing for Magikarp").
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/features/directions/measures.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/inputs/text/tokenizer.h"

namespace attnscope {

struct FoundTokens {
  CandidateTokens naming;
  std::int64_t untrained = 0;  // left out
  bool known = false;          // the vocabulary has tokens that no text can have
};

/// Tokens whose output row less the mean has a cosine above 0.9 with the mean of those of the
/// references were never trained: bytes C0, C1 and F5 to FF, which UTF-8 does not have, and
/// WordPiece's "[unused…]". Without an output head the embedding's rows are taken. `tokenizer`: may
/// be null; then, and with `all`, none is left out.
FoundTokens candidate_tokens(const ForwardPass& pass, const Tokenizer* tokenizer, bool all,
                             const Compute& compute);

}  // namespace attnscope
