// Reads the target of a plan from the arguments.
#pragma once

#include "attnscope/features/framework/arguments.h"
#include "attnscope/features/plan/run.h"

namespace attnscope {

/// The target from keep, kv_bytes, max_perplexity or set, of which at most one is given. Throws
/// Error(usage) with the wrong parameter and its range. `by`: set to the method in `set`, if given.
PlanTarget plan_target(const Arguments& arguments, const Model& model, std::vector<Method>& by);

/// Parses a number. Throws Error(usage) about the parameter if the text is not a number.
double number_of_text(const std::string& parameter, const std::string& text);

}  // namespace attnscope
