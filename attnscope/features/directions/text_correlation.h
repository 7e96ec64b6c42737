// Tests whether input directions respond on a text to the tokens that describe them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/interventions/candidate_tokens.h"

namespace attnscope {

/// With fewer distinct tokens, a large correlation may be chance.
inline constexpr std::ptrdiff_t kFewestKinds = 10;

/// Vectors that a layer reads from the residual stream: before its attention, or before its MLP.
struct ReadVectors {
  std::int64_t layer = 0;
  bool of_mlp = false;
  TokenBasis named_by = TokenBasis::embedding;
  MatrixView<const double> vectors;  // (count, D)
};

/// Returns the correlation for each vector v of each of `reads`, over the distinct candidate tokens
/// of the text (`naming`, ascending). It is between the mean of v · n(x) over the positions of a
/// token and its score v · row. Here x is the residual stream and n the norm without its gain.
/// Empty if either is constant; no results for fewer than kFewestKinds tokens. Throws the errors of
/// run_inputs().
std::vector<std::vector<std::optional<double>>> text_correlations(
    const ForwardPass& pass, const BatchInputs& text, const TokenIds& naming,
    std::span<const ReadVectors> reads, const Compute& compute);

}  // namespace attnscope
