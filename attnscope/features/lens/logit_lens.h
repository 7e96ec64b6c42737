// What each layer would predict if it were the last: its stream through the final norm, computed
// anew, and the output head (nostalgebraist 2020, "interpreting GPT: the logit lens").
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/logits.h"
#include "attnscope/forward/scored_positions.h"
#include "attnscope/rows/record.h"

namespace attnscope {

/// Where the residual stream is read, named as in TransformerLens: before a layer, between its
/// attention and its MLP (resid_mid_cross: after its cross-attention), and after the last layer.
enum class StreamPoint { resid_pre, resid_mid, resid_mid_cross, resid_post };

struct LensState {
  std::int64_t layer = 0;
  StreamPoint point = StreamPoint::resid_pre;

  auto operator<=>(const LensState&) const = default;
};

/// What one state foretells at one place, beside what the model foretells in the end.
struct LensReading {
  double entropy = 0;     // nats
  double divergence = 0;  // KL(final ‖ this), nats
  TokenScore top;
  std::vector<TokenScore> most_likely =
      {};                       // it and those that follow, where several are asked for
  std::int64_t final_rank = 1;  // of the model's likeliest token; 1: the likeliest here too
  /// −log of the probability of the token asked for, nats, and its rank; none where none is.
  std::optional<double> loss;
  std::optional<std::int64_t> rank;
};

struct Lens {
  std::vector<LensState> states;                   // as the pass has them
  std::vector<std::vector<LensReading>> readings;  // of each state, of each place
};

/// At the places of texts. `middles`: states within layers too, of models whose branches follow
/// each other. `most_likely`: how many tokens are listed. Throws Error(unsupported) for a model
/// without logits, and as ForwardPass::run().
Lens read_lens(const ForwardPass& pass, const ScoredPositions& positions, bool middles,
               std::int64_t most_likely, const Compute& compute);

struct LensDifferences {
  std::vector<LensState> states;                 // as the pass has them
  std::vector<std::vector<double>> differences;  // of each state, logit(right) − logit(wrong)
};

/// The same of two answers after each text, which read_lens() would foretell at its last token.
LensDifferences read_lens_differences(const ForwardPass& pass, std::span<const TokenIds> texts,
                                      std::span<const std::int64_t> right,
                                      std::span<const std::int64_t> wrong, bool middles,
                                      const Compute& compute);

struct LensSums {
  std::int64_t places = 0;
  double loss = 0, entropy = 0, divergence = 0;
  std::int64_t agreeing = 0;        // places with the model's own likeliest token
  std::vector<std::int64_t> ranks;  // of the tokens asked for, in the places that have one

  void add(const LensSums& more);
};

LensSums lens_sums(std::span<const LensReading> readings);

/// As a store keeps them, and back. Throws as expect().
Record sums_record(const LensState& state, const LensSums& sums);
LensState read_state(const Record& record);
LensSums read_sums(const Record& record);

/// Adds loss, entropy, kl, mean_reciprocal_rank, median_rank, top1 and agreement.
void add_lens_means(Record& row, const LensSums& sums);

/// The name of the point: "resid_pre", …
std::string_view state_name(const LensState& state);

}  // namespace attnscope
