// Estimates the memory of a plan before it starts.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/features/plan/run.h"

namespace attnscope {

/// `context`: provides the memory limit and threads.
PlanMemory plan_memory(const Model& model, const PlanRequest& request, const Context& context);
/// For applying these methods to a model, one after another.
PlanMemory shrink_memory(const Model& model, std::span<const Method> methods, const PlanText& text,
                         const Context& context);

}  // namespace attnscope
