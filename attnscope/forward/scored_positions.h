// Where what a model foretells is compared with what a text has there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

struct ScoredPositions {
  std::vector<TokenIds> inputs;  // the sequences as the model reads them
  /// Of a decoder: what its encoder reads for each; else none.
  std::vector<TokenIds> sources = {};
  /// Of all sequences' states, the rows that foretell, ascending.
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> tokens;       // what the text has there; −1: it ends before
  std::vector<std::int64_t> of_sequence;  // how many of `rows` are of each sequence
};

/// Of models that write: what follows each token.
ScoredPositions next_tokens(std::span<const TokenIds> sequences);

/// Of encoder-decoders: what follows each token of a target, given its source. Targets begin with
/// the start token, and their last token is only foretold.
ScoredPositions target_tokens(std::span<const TokenIds> targets, std::span<const TokenIds> sources);

/// For each token of each sequence 1 if it counts, else 0; none: all count.
using ScoredTokens = std::vector<TokenIds>;

/// Of models that see texts both ways: about 15 % of the tokens of each sequence that count, one at
/// least, drawn by a generator that C++ fixes to the bit, with `mask` in their place. `first`: the
/// number of the first sequence, which with `seed` decides the draw.
ScoredPositions masked_tokens(std::span<const TokenIds> sequences, std::int64_t mask,
                              std::int64_t first, std::uint64_t seed,
                              const ScoredTokens& scored = {});

/// Of one sequence: the rows at which the tokens that count are predicted. Where a model `writes`,
/// each is one row above its token, so that the first token has none.
std::vector<std::int64_t> scored_rows(const TokenIds& scored, bool writes);

/// Those of next_tokens() or target_tokens() at which a token that counts is predicted.
ScoredPositions select_scored_positions(ScoredPositions all, const ScoredTokens& scored);

/// Those rows of the states of all sequences.
Matrix<float> picked_rows(MatrixView<const float> states, std::span<const std::int64_t> rows);

}  // namespace attnscope
