// Combines several methods, each applied to the output of the previous one.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/features/plan/rows.h"
#include "attnscope/features/plan/search.h"

namespace attnscope {

/// Applies the methods in the order of the request, in steps of 1/16 of each size. Each time takes
/// the step with the lowest increase in mean negative log-likelihood per parameter saved (per
/// KV-cache byte for a cache target). Ends with the largest model that meets a size target, or the
/// last one within a perplexity target. `planner`: for the original model and the same request.
/// Throws Error(numerical) if no step reaches the target.
PlannedModel combined(Planner& planner, const PlanRequest& request, const Context& context,
                      const Compute& compute);

}  // namespace attnscope
