// Several methods at once, each applied to what the one before left.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/features/plan/rows.h"
#include "attnscope/features/plan/search.h"

namespace attnscope {

/// Applies the methods in the order of the request, in steps of a sixteenth of each size. Every
/// time it takes the step that costs least for what it saves: the rise of the mean negative log
/// likelihood per parameter or, for a target in bytes of the cache, per byte. Ends with the largest
/// model that meets a target of size, or the last within one of perplexity. `planner`: of the model
/// as it is, made of the same request. Throws Error(numerical) where no step comes to the target,
/// Error(usage) for a target that is of one method.
PlannedModel combined(Planner& planner, const PlanRequest& request, const Context& context,
                      const Compute& compute);

}  // namespace attnscope
