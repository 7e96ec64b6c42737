// Positions at which predictions of a model are scored against a text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

struct ScoredPositions {
  std::vector<TokenIds> inputs;  // sequences as the model's input
  /// Decoders only: the encoder's tokens for each sequence.
  std::vector<TokenIds> sources = {};
  /// Predicting rows among the states of all sequences, ascending.
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> tokens;       // target token of each row; −1: end of the text
  std::vector<std::int64_t> of_sequence;  // number of `rows` per sequence
};

/// Returns the next-token positions of causal models.
ScoredPositions next_tokens(std::span<const TokenIds> sequences);

/// Returns the next-token positions of encoder-decoders' targets, given their sources. Targets
/// begin with the start token; their last token is only predicted.
ScoredPositions target_tokens(std::span<const TokenIds> targets, std::span<const TokenIds> sources);

/// For each token of each sequence: 1 if it is scored, else 0. Empty: all are scored.
using ScoredTokens = std::vector<TokenIds>;

/// Returns masked positions for bidirectional models: about 15% of the scored tokens of each
/// sequence, at least one, are replaced by `mask`. The random generator is fixed bit for bit by the
/// C++ standard. `first`: index of the first sequence; together with `seed`, it determines the
/// draw.
ScoredPositions masked_tokens(std::span<const TokenIds> sequences, std::int64_t mask,
                              std::int64_t first, std::uint64_t seed,
                              const ScoredTokens& scored = {});

/// Returns the rows of one sequence that predict its scored tokens. If the model `writes`, each row
/// is one before its token, so the first token has none.
std::vector<std::int64_t> scored_rows(const TokenIds& scored, bool writes);

/// Selects the positions of next_tokens() or target_tokens() whose target is scored.
ScoredPositions select_scored_positions(ScoredPositions all, const ScoredTokens& scored);

/// Returns the given rows of the states of all sequences.
Matrix<float> picked_rows(MatrixView<const float> states, std::span<const std::int64_t> rows);

}  // namespace attnscope
