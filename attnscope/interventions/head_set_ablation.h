// Ablation of several heads together, in one or more layers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/head_index.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/scored_positions.h"
#include "attnscope/interventions/ablation.h"
#include "attnscope/interventions/prediction_changes.h"

namespace attnscope {

/// Heads that are ablated together; without duplicates.
using HeadSet = std::vector<HeadIndex>;

/// Returns the first layer of a set. Requires at least one head.
std::int64_t first_layer(const HeadSet& set);

struct HeadSetAblation {
  std::vector<double> loss;  // of the unmodified model, summed over each sequence, nats
  std::vector<std::int64_t> places, predicted;  // scored positions and predicted tokens of each
  std::vector<PredictionChange> changes;        // one per set
};

/// Ablates each set separately. A head's mean and its output on the next text are those of the
/// unmodified model. States before the first ablated layer of all sets are computed once, so sets
/// with the same first layer should be ablated together. Throws like ForwardPass::run().
HeadSetAblation ablate_head_sets(const ForwardPass& pass, const ScoredPositions& texts,
                                 std::span<const HeadSet> sets, LayerInStack::Of stack,
                                 Replacement how, const Compute& compute);

}  // namespace attnscope
