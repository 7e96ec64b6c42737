// How well encoder-decoders foretell targets from their sources.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/forward/perplexity.h"
#include "attnscope/forward/scored_positions.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct TargetPerplexityRequest {
  std::vector<std::vector<TargetPair>> pairs;  // of each model
  Record text;                                 // what the report says of where they come from
  std::vector<ScoredTokens> scored = {};       // of each model, of its targets; none: all count
};

/// Rows: the pairs of each model, in the place of windows. Throws as ForwardPass does, Error(usage)
/// for a target without a token to foretell.
void run_target_perplexity(std::span<const Model> models, const TargetPerplexityRequest& request,
                           const Context& context, RowSink& sink);

}  // namespace attnscope
