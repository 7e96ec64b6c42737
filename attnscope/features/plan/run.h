// What compressing a model costs: measured on a held-out text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/features/common/calibration/calibration_text.h"
#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/features/plan/methods/method.h"
#include "attnscope/features/plan/methods/rank_allocation.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// What a plan must come to. At most one is set; none: the menu.
struct PlanTarget {
  std::string text;                // as it was asked for; empty: none
  std::optional<double> keep;      // share of the parameters; of low_rank of the projections'
  std::optional<double> kv_bytes;  // share of the cache's bytes a token, or bytes from 2 on
  std::optional<double> loss;      // the most that the mean negative log likelihood may rise, nats
  std::optional<double> perplexity;  // or what the perplexity may be
  std::optional<Choice> set;         // exactly this; its lists may be left to choose
};

struct PlanRequest {
  PlanText text;
  /// None: all that the architecture allows; several are combined, in this order.
  std::vector<Method> by;
  PlanTarget target;
  RankAllocation rank_allocation = RankAllocation::kl;
  double ridge = 0.01;
  std::int64_t probe_tokens = 1024;
  std::int64_t round = 1;            // ranks and widths are multiples of it
  std::int64_t eval_sequences = 32;  // windows on which orders and the menu are measured
  std::vector<Role> matrices;        // that may get a lower rank; none: all
  LayerSelection layers;
};

/// Rows: without a target each method at several sizes; with one, each layer or matrix of the plan.
/// Throws Error(unsupported) for a method that the architecture does not allow, or a model that
/// foretells no tokens and fills no masks; Error(numerical) for a target that no size reaches.
void run_plan_of_model(const Model& model, const PlanRequest& request, const Context& context,
                       RowSink& sink);

}  // namespace attnscope
