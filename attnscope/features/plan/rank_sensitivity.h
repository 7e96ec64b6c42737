// The matrices of one layer on a text: the energies of what they give, and what half of the ranks
// that save something costs. An item of work of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/features/plan/divergence.h"
#include "attnscope/features/plan/methods/method.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/methods/rank_allocation.h"
#include "attnscope/features/plan/run.h"

namespace attnscope {

/// Whose ranks are allocated: those of the layer that are asked for (none: all) and can change.
std::vector<Role> ranked_matrices(const Model& model, std::int64_t layer,
                                  const std::vector<Role>& asked);

/// The first windows of the text, which have so many tokens together: those of probes. Those with a
/// source are not cut.
std::vector<TokenIds> probe_windows(const TextWindows& text, std::int64_t tokens);
/// Which of their tokens count, of TextWindows::scored; none: all.
std::vector<TokenIds> probe_scored(std::span<const TokenIds> windows,
                                   std::span<const TokenIds> scored);

/// Of each of these matrices an outcome, those that hold NaN or infinity skipped. `divergence`: of
/// the probes' windows; null: none.
std::vector<Outcome> ranks_of_layer(const Model& model, std::int64_t layer,
                                    const std::vector<Role>& roles, const TextStatistics& text,
                                    const Divergence* divergence, const Compute& compute);

/// What such an outcome says, unless it was skipped. Throws Error(format) where it is none.
struct FoundRank {
  LayerMatrix place;
  RankOptions options;
  std::optional<double> probe;  // KL at half the break-even rank, in nats
};
FoundRank found_rank(std::int64_t layer, const Outcome& outcome);

/// The item that finds the same in another process, which runs the text up to that layer.
WorkItem layer_ranks_item(const PlanRequest& request, double ridge, std::int64_t layer);
const Analysis& layer_ranks_analysis();

}  // namespace attnscope
