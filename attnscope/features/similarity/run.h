// `similarity`: models × layers × projections → cosines between weight vectors, and how far heads
// overlap.
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
  std::vector<Role> matrices;  // of heads, MLPs and routers; empty: q, k, v
  LayerSelection layers;
  ExpertSelection experts;
  Record options;                        // of cosines: what bins_of() reads
  bool overlap = false;                  // the overlap of heads instead of cosines
  std::optional<HeadIndex> head_matrix;  // the cosines of one head's rows instead
};

const Analysis& similarity_analysis();
const Analysis& head_overlap_analysis();
const Analysis& head_matrix_analysis();

/// Rows by model, layer, matrix (as asked), then by scope, or of a matrix without heads by expert;
/// with `overlap` one for each matrix; with `head_matrix` one for each of the head's rows.
void run_similarity(std::span<const Model> models, const SimilarityRequest& request,
                    const Context& context, RowSink& sink);

}  // namespace attnscope
