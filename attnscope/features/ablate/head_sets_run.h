// Ablates sets of heads: chosen heads together, pairs of heads, and more and more heads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/base/head_index.h"
#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/features/common/scored_texts.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Items: sets of heads with the same first layer.
const Analysis& ablate_sets_analysis();

struct AblateSetsRequest {
  enum class Of {
    heads,       // all `heads` together
    cumulative,  // more and more heads, by their effect and at random
    pairs,       // each two of the heads with the largest effects
  };

  ScoredTexts texts;
  Of of = Of::heads;
  std::vector<HeadIndex> heads;  // candidates; empty: all heads of `layers`
  LayerSelection layers;
  std::int64_t pairs = 0;    // number of heads of which pairs are ablated; 0: all of `heads`
  std::uint64_t seed = 0;    // of the random orders
  std::string how = "mean";  // mean, zero or resample
};

/// Rows: see the fields of ablate_heads, ablate_cumulative and ablate_pairs. Throws the errors of
/// check_predicts_tokens() and place_in().
void run_ablate_sets(std::span<const Model> models, const AblateSetsRequest& request,
                     const Context& context, RowSink& sink);

}  // namespace attnscope
