// `weights`: models × layers × projections (× heads) → rows of moments, quantiles and histograms.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attnscope/analysis/histogram.h"
#include "attnscope/pipeline/selection.h"
#include "attnscope/pipeline/work_queue.h"
#include "attnscope/results/report.h"
#include "attnscope/store/store.h"

namespace attnscope {

struct WeightsRequest {
  std::vector<Role> matrices;  // projections; empty: those that each model has
  LayerSelection layers;
  bool per_head = false;
  bool with_histogram = false;
  BinRule bins{.bins = 80, .range = ValueRange{-0.8, 0.8}};
  Resources resources;
  Store* store = nullptr;  // keeps finished rows; null: none does
};

/// Rows by model, layer, matrix (as asked), then the whole matrix before its heads.
/// The same request gives the same report whatever the number of threads.
Report run_weights(std::span<const Model> models, const WeightsRequest& request,
                   const ProgressFn& on_progress);

/// How a report says which bins were asked for: "bins" and "range".
void add_bin_parameters(Record& parameters, const BinRule& rule);

}  // namespace attnscope
