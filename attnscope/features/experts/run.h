// `experts`: what the experts of a layer have in common, and where its router sends a text.
#pragma once

#include <span>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/features/common/expert_selection.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/scored_positions.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct ExpertsRequest {
  LayerSelection layers;
  ExpertSelection experts;
  std::vector<double> thresholds = {0.9, 0.99};  // ascending, each in (0, 1)
};

/// Throws Error(usage) for a model without experts.
void check_experts(std::span<const Model> models);

const Analysis& experts_analysis();

/// Rows by model, layer, and matrix: router, gate, up, down. Throws as check_experts().
void run_experts(std::span<const Model> models, const ExpertsRequest& request,
                 const Context& context, RowSink& sink);

struct RoutingRequest {
  LayerSelection layers;
  std::vector<std::vector<TokenIds>> sequences;  // of each model
  Record text;                                   // what the report says of them
  std::vector<ScoredTokens> scored = {};         // of each model: see ScoredTexts
};

const Analysis& routing_analysis();

/// What an item of that says of one layer. `scored`: which tokens of its sequences count.
Outcome routing_outcome(const LayerRouting& routing, const Model& model,
                        const ScoredTokens& scored = {});

/// A row for each layer with experts. Throws as check_experts().
void run_routing(std::span<const Model> models, const RoutingRequest& request,
                 const Context& context, RowSink& sink);

}  // namespace attnscope
