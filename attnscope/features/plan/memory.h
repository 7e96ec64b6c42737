// What a plan takes in memory, known before it starts.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/features/plan/run.h"

namespace attnscope {

/// `context`: its memory and threads.
PlanMemory plan_memory(const Model& model, const PlanRequest& request, const Context& context);
/// Of applying these methods to a model, one after the other.
PlanMemory shrink_memory(const Model& model, std::span<const Method> methods, const PlanText& text,
                         const Context& context);

}  // namespace attnscope
