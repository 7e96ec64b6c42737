// Whether what a direction reads on a text goes with the scores of the tokens that name it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/interventions/candidate_tokens.h"

namespace attnscope {

/// Of fewer kinds of tokens a large correlation is chance.
inline constexpr std::ptrdiff_t kFewestKinds = 10;

/// Vectors by which a layer reads its stream: before its attention, or before its MLP.
struct ReadVectors {
  std::int64_t layer = 0;
  bool of_mlp = false;
  TokenBasis named_by = TokenBasis::embedding;
  MatrixView<const double> vectors;  // (count, D)
};

/// Of each vector v of each of `reads` the correlation, over the kinds of tokens of the text that
/// may name (`naming`, ascending), of the mean of v · n(x) over their places, x the stream and n
/// the norm without its gain, with the score v · row of the token in the basis that names. None
/// where either does not vary; nothing of fewer than kFewestKinds. Throws as run_inputs().
std::vector<std::vector<std::optional<double>>> text_correlations(
    const ForwardPass& pass, const BatchInputs& text, const TokenIds& naming,
    std::span<const ReadVectors> reads, const Compute& compute);

}  // namespace attnscope
