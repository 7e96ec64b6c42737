// Perplexity of texts, and of targets after their sources.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/forward/perplexity.h"
#include "attnscope/forward/scored_positions.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct PerplexityRequest {
  std::vector<std::vector<TokenIds>> texts;  // of each model its examples: no window crosses them
  Record text;
  std::optional<std::int64_t> stride;     // none: the context, so that windows do not overlap
  std::vector<ScoredTokens> scored = {};  // of each model; none: all tokens count

  const ScoredTokens& scored_of(std::size_t model) const {
    static const ScoredTokens all;
    return model < scored.size() ? scored[model] : all;
  }
};

/// Rows: the windows of each model's examples. Throws as ForwardPass does, Error(unsupported) for a
/// model without next tokens, Error(usage) for a stride past the context or a text of one token.
void run_perplexity(std::span<const Model> models, const PerplexityRequest& request,
                    const Context& context, RowSink& sink);

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
