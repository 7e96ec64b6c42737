// `similarity`: models × layers × projections → cosines between weight vectors, and overlap of
// heads.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/features/common/expert_selection.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct SimilarityRequest {
  std::vector<Role> matrices;  // matrices of heads, MLPs and routers; empty: q, k, v
  LayerSelection layers;
  ExpertSelection experts;
  Record options;                        // options of cosines, read by bins_of()
  bool overlap = false;                  // overlap of heads instead of cosines
  std::optional<HeadIndex> head_matrix;  // cosines of the rows of one head instead
};

const Analysis& similarity_analysis();
const Analysis& head_overlap_analysis();
const Analysis& head_matrix_analysis();

/// Rows by model, layer and matrix (as requested), then by scope, or by expert for matrices without
/// heads. With `overlap` one row per matrix; with `head_matrix` one row per row of the head.
void run_similarity(std::span<const Model> models, const SimilarityRequest& request,
                    const Context& context, RowSink& sink);

}  // namespace attnscope
