// Measures what compressing a model costs on a held-out text.
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

/// The target of a plan. At most one is set; if none is set, methods are compared.
struct PlanTarget {
  std::string text;            // as given; empty: none
  std::optional<double> keep;  // share of the parameters; low_rank: of the projection parameters
  std::optional<double> kv_bytes;  // share of the KV-cache bytes per token, or bytes if at least 2
  std::optional<double> loss;      // maximum increase in mean negative log-likelihood, nats
  std::optional<double> perplexity;  // maximum perplexity
  std::optional<Choice> set;  // exactly this choice; its lists may be empty and are then chosen
};

struct PlanRequest {
  PlanText text;
  /// Empty: all that the architecture allows. Several are combined, in this order.
  std::vector<Method> by;
  PlanTarget target;
  RankAllocation rank_allocation = RankAllocation::kl;
  double ridge = 0.01;
  std::int64_t probe_tokens = 1024;
  std::int64_t round = 1;            // ranks and sizes are multiples of it
  std::int64_t eval_sequences = 32;  // windows for searching and comparing
  std::vector<Role> matrices;        // that may be factored; empty: all
  LayerSelection layers;
};

/// Rows: without a target, each method at several sizes; with a target, each layer or matrix of the
/// plan. Throws Error(unsupported) if the architecture does not allow a method or the model
/// predicts no tokens, and Error(numerical) if the target is not reachable.
void run_plan_of_model(const Model& model, const PlanRequest& request, const Context& context,
                       RowSink& sink);

}  // namespace attnscope
