// For the matrices of one layer on a text: the energies of their outputs, and the KL divergence at
// half the break-even rank. A separate work item.
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

/// The matrices of the layer whose ranks are allocated: requested (empty: all) and changeable.
std::vector<Role> ranked_matrices(const Model& model, std::int64_t layer,
                                  const std::vector<Role>& asked);

/// The first windows of the text with `tokens` tokens in total, for measuring sensitivity. Windows
/// with a source text are not cut.
std::vector<TokenIds> probe_windows(const TextWindows& text, std::int64_t tokens);
/// The entries of TextWindows::scored for these windows; empty: all tokens are scored.
std::vector<TokenIds> probe_scored(std::span<const TokenIds> windows,
                                   std::span<const TokenIds> scored);

/// One outcome per matrix. Matrices that contain NaN or infinity are skipped. `divergence`: on the
/// windows of probe_windows(); null: sensitivity is not measured.
std::vector<Outcome> ranks_of_layer(const Model& model, std::int64_t layer,
                                    const std::vector<Role>& roles, const TextStatistics& text,
                                    const Divergence* divergence, const Compute& compute);

/// The content of an outcome that was not skipped. Throws Error(format) if a field is missing.
struct FoundRank {
  LayerMatrix place;
  RankOptions options;
  std::optional<double> probe;  // KL at half the break-even rank, in nats
};
FoundRank found_rank(std::int64_t layer, const Outcome& outcome);

/// The work item that computes the same in another process, which runs the text up to this layer.
WorkItem layer_ranks_item(const PlanRequest& request, double ridge, std::int64_t layer);
const Analysis& layer_ranks_analysis();

}  // namespace attnscope
