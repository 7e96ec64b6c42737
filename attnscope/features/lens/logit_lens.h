// Logit lens: decodes each residual-stream state with the final norm and the unembedding
// (nostalgebraist 2020, "interpreting GPT: the logit lens"). The norm is recomputed for each state.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/hooks.h"
#include "attnscope/forward/logits.h"
#include "attnscope/forward/scored_positions.h"
#include "attnscope/rows/record.h"

namespace attnscope {

class TunedLens;

/// What is decoded, named as in TransformerLens. The residual stream: before a layer, between its
/// attention and its MLP (resid_mid_cross: after its cross-attention), and after the last layer.
/// Others: what one component adds to it.
enum class StreamPoint {
  resid_pre,
  attn_out,
  mixer_out,
  resid_mid,
  cross_attn_out,
  resid_mid_cross,
  mlp_out,
  resid_post
};

struct LensState {
  std::int64_t layer = 0;
  StreamPoint point = StreamPoint::resid_pre;

  auto operator<=>(const LensState&) const = default;
};

/// The prediction decoded from one state at one position, compared with the model's final
/// prediction.
struct LensReading {
  double entropy = 0;     // nats
  double divergence = 0;  // KL(final ‖ this), nats
  TokenScore top;
  std::vector<TokenScore> most_likely = {};  // the top-k tokens if k > 1
  std::int64_t final_rank = 1;               // rank of the model's final top-1 token; 1: both agree
  /// Negative log-probability of the target token in nats, and its rank; none without a target.
  std::optional<double> loss;
  std::optional<std::int64_t> rank;
};

struct Lens {
  std::vector<LensState> states;                   // in the order of the forward pass
  std::vector<std::vector<LensReading>> readings;  // per state and position
};

/// What a lens decodes in addition to the states before each layer and after the last one.
struct LensChoice {
  bool middles = false;   // states within layers, if attention and MLP are sequential
  bool attn_out = false;  // what each attention, or other mixer, adds to the residual stream
  bool mlp_out = false;   // what each MLP adds
  /// Translates states before layers, so that they are decoded as states after the last layer. Null
  /// for the logit lens.
  const TunedLens* tuned = nullptr;
};

/// Creates the hooks of a run that calls `next` last; see RunEdits.
using MakeHooks = std::function<ForwardHooks*(ForwardHooks* next)>;

/// Decodes all states at the scored positions. `most_likely`: number of tokens to list. Throws
/// Error(unsupported) for a model without logits, and as ForwardPass::run(). `edits`: edits of
/// the run; may be empty.
Lens read_lens(const ForwardPass& pass, const ScoredPositions& positions, const LensChoice& choice,
               std::int64_t most_likely, const Compute& compute, const MakeHooks& edits = {});

struct LensDifferences {
  std::vector<LensState> states;                 // in the order of the forward pass
  std::vector<std::vector<double>> differences;  // per state: logit(correct) − logit(incorrect)
};

/// Decodes the logit difference of two answers at the last token of each text. `edits`: as for
/// read_lens().
LensDifferences read_lens_differences(const ForwardPass& pass, std::span<const TokenIds> texts,
                                      std::span<const std::int64_t> right,
                                      std::span<const std::int64_t> wrong, const LensChoice& choice,
                                      const Compute& compute, const MakeHooks& edits = {});

struct LensSums {
  std::int64_t places = 0;
  double loss = 0, entropy = 0, divergence = 0;
  std::int64_t agreeing = 0;        // positions whose top-1 token equals the model's final one
  std::vector<std::int64_t> ranks;  // ranks of the target tokens

  void add(const LensSums& more);
};

LensSums lens_sums(std::span<const LensReading> readings);

/// Converts to the record kept by a store, and back. Throws as expect().
Record sums_record(const LensState& state, const LensSums& sums);
LensState read_state(const Record& record);
LensSums read_sums(const Record& record);

/// Adds loss, entropy, kl, mean_reciprocal_rank, median_rank, top1 and agreement.
void add_lens_means(Record& row, const LensSums& sums);

/// The name of the point: "resid_pre", …
std::string_view state_name(const LensState& state);

}  // namespace attnscope
