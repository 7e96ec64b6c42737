// How well encoder-decoders foretell targets from their sources.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/forward/foretold_places.h"
#include "attnscope/forward/perplexity.h"
#include "attnscope/model/model.h"
#include "attnscope/results/sink.h"
#include "attnscope/run/context.h"

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
