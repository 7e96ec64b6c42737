// `experts`: similarity of the experts of a layer, and routing of a text.
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
  std::vector<std::vector<TokenIds>> sequences;  // per model
  Record text;                                   // report parameters of the sequences
  std::vector<ScoredTokens> scored = {};         // per model, see ScoredTexts
};

const Analysis& routing_analysis();

/// The routing outcome of one layer for one item. `scored`: which tokens of its sequences count.
Outcome routing_outcome(const LayerRouting& routing, const Model& model,
                        const ScoredTokens& scored = {});

/// Emits one row per MoE layer. Throws as check_experts().
void run_routing(std::span<const Model> models, const RoutingRequest& request,
                 const Context& context, RowSink& sink);

}  // namespace attnscope
