// The effect of earlier heads on induction heads.
#pragma once

#include <optional>
#include <span>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/features/common/repeated_tokens.h"
#include "attnscope/features/framework/selections.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Items: one layer on random tokens repeated twice, or one later head.
const Analysis& ablate_induction_analysis();

/// Rows: each head of the selected layers with each later head, with the induction score of the
/// later head before and after the ablation. With `later`: the direct path of each earlier head
/// into that head's queries, keys or values. Texts fit into the contexts of the models. Throws the
/// errors of check_predicts_tokens().
void run_ablate_induction(std::span<const Model> models, const InductionRequest& request,
                          std::optional<HeadInput> receiver, const Context& context, RowSink& sink);

}  // namespace attnscope
