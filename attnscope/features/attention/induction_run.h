// Induction and duplicate-token scores of heads, on random tokens repeated twice.
#pragma once

#include <span>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/features/common/repeated_tokens.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

const Analysis& induction_analysis();
void run_induction(std::span<const Model> models, const InductionRequest& request,
                   const Context& context, RowSink& sink);

}  // namespace attnscope
