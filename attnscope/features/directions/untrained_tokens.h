// Finds untrained tokens from the weights alone: their rows are close to those of tokens that no
// text can contain (Land & Bartolo 2024, "Fishing for Magikarp").
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/features/directions/measures.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/inputs/text/tokenizer.h"

namespace attnscope {

struct FoundTokens {
  CandidateTokens naming;
  std::int64_t untrained = 0;  // number of excluded tokens
  bool known = false;          // whether the vocabulary has tokens that no text can contain
};

/// A token counts as untrained if its centered unembedding row has a cosine above 0.9 with the mean
/// of the reference rows. References are the bytes C0, C1 and F5 to FF, which UTF-8 never uses, and
/// WordPiece's "[unused…]". Without an unembedding, uses the embedding rows. `tokenizer` may be
/// null; then, and with `all`, no token is excluded.
FoundTokens candidate_tokens(const ForwardPass& pass, const Tokenizer* tokenizer, bool all,
                             const Compute& compute);

}  // namespace attnscope
