// `weights`: models × layers × projections (× heads) → rows of moments, quantiles and histograms.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/analyses/expert_selection.h"
#include "attnscope/analyses/selection.h"
#include "attnscope/analysis/histogram.h"
#include "attnscope/results/sink.h"
#include "attnscope/run/analysis.h"
#include "attnscope/run/context.h"

namespace attnscope {

struct WeightsRequest {
  std::vector<Role> matrices;  // projections; empty: those that each model has
  LayerSelection layers;
  ExpertSelection experts;
  /// What is asked of each: "per_head", and what bins_of() reads.
  Record options;
};

const Analysis& weights_analysis();

/// Rows by model, layer, matrix (as asked), then the whole matrix before its heads.
void run_weights(std::span<const Model> models, const WeightsRequest& request,
                 const Context& context, RowSink& sink);

/// The rule of "bins" (a number, or "fd") and "range" (two numbers, or null); nothing where
/// "histogram" is false.
std::optional<BinRule> bins_of(const Record& options);

}  // namespace attnscope
