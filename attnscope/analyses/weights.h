// `weights`: models × layers × projections (× heads) → rows of moments, quantiles and histograms.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/analyses/selection.h"
#include "attnscope/analysis/histogram.h"
#include "attnscope/results/sink.h"
#include "attnscope/run/analysis.h"
#include "attnscope/run/context.h"

namespace attnscope {

struct WeightsRequest {
  std::vector<Role> matrices;  // projections; empty: those that each model has
  LayerSelection layers;
  bool per_head = false;
  bool with_histogram = false;
  BinRule bins{.bins = 80, .range = ValueRange{-0.8, 0.8}};
};

const Analysis& weights_analysis();

/// Rows by model, layer, matrix (as asked), then the whole matrix before its heads.
void run_weights(std::span<const Model> models, const WeightsRequest& request,
                 const Context& context, RowSink& sink);

/// How a report says which bins were asked for: "bins" and "range".
void add_bin_parameters(Record& parameters, const BinRule& rule);

/// The rule of an item's parameters; nothing where no histogram is wanted.
std::optional<BinRule> bins_of(const Record& parameters);

}  // namespace attnscope
