// What a plan takes in memory, known before it starts.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/features/common/calibration/memory.h"
#include "attnscope/features/plan/run.h"

namespace attnscope {

/// `context`: its memory and threads.
PlanMemory plan_memory(const Model& model, const PlanRequest& request, const Context& context);
/// Of making a model of these forms, one after the other.
PlanMemory shrink_memory(const Model& model, std::span<const Form> forms, const PlanText& text,
                         const Context& context);

}  // namespace attnscope
