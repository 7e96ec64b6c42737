// Perplexity of texts, and of targets given their sources.
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
  std::vector<std::vector<TokenIds>> texts;  // per model: its examples, which no window crosses
  Record text;
  std::optional<std::int64_t> stride;     // empty: the context length, without overlap
  std::vector<ScoredTokens> scored = {};  // per model; empty: all tokens count

  const ScoredTokens& scored_of(std::size_t model) const {
    static const ScoredTokens all;
    return model < scored.size() ? scored[model] : all;
  }
};

/// Rows: the windows of each model's examples. Throws as ForwardPass does, Error(unsupported) for a
/// model that does not predict next tokens, and Error(usage) for a stride above the context length
/// or a text of one token.
void run_perplexity(std::span<const Model> models, const PerplexityRequest& request,
                    const Context& context, RowSink& sink);

struct TargetPerplexityRequest {
  std::vector<std::vector<TargetPair>> pairs;  // per model
  Record text;                                 // source of the pairs, for the report
  std::vector<ScoredTokens> scored = {};       // per model, for its targets; empty: all count
};

/// Rows: the pairs of each model, in place of windows. Throws as ForwardPass does, and Error(usage)
/// for a target without a token to predict.
void run_target_perplexity(std::span<const Model> models, const TargetPerplexityRequest& request,
                           const Context& context, RowSink& sink);

}  // namespace attnscope
