// What a smaller model must come to, from the texts of arguments.
#pragma once

#include "attnscope/features/framework/arguments.h"
#include "attnscope/features/plan/run.h"

namespace attnscope {

/// Of keep, kv_bytes, max_perplexity and set, at most one of which is given. Throws Error(usage)
/// that names the one at fault and its range. `by`: becomes that of `set`, which names it itself.
PlanTarget plan_target(const Arguments& arguments, const Model& model, std::vector<Method>& by);

/// A number; Error(usage) about the parameter where the text is none.
double number_of_text(const std::string& parameter, const std::string& text);

}  // namespace attnscope
