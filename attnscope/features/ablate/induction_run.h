// What induction heads lose without earlier heads.
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

/// One layer on random tokens repeated twice, or one later head.
const Analysis& ablate_induction_analysis();

/// Rows: each head of the chosen layers with each later head, whose induction is given before and
/// after the first is replaced; with `receiver`, each earlier head removed from that head's query,
/// key or value input alone. Texts are no longer than the models take. Throws as
/// check_predicts_tokens().
void run_ablate_induction(std::span<const Model> models, const InductionRequest& request,
                          std::optional<HeadInput> receiver, const Context& context, RowSink& sink);

}  // namespace attnscope
