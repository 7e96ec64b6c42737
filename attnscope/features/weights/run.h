// `weights`: models × layers × projections (× heads) → rows of moments, quantiles and histograms.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/features/common/expert_selection.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/numerics/statistics/histogram.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct WeightsRequest {
  std::vector<Role> matrices;  // projections; empty: all of each model
  LayerSelection layers;
  ExpertSelection experts;
  /// Options of each row: "per_head", and those read by bins_of().
  Record options;
};

const Analysis& weights_analysis();

/// Rows by model, layer and matrix (as requested), then the whole matrix before its heads.
void run_weights(std::span<const Model> models, const WeightsRequest& request,
                 const Context& context, RowSink& sink);

}  // namespace attnscope
