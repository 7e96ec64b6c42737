// What a fine-tune changed: the difference of two checkpoints, matrix by matrix.
#pragma once

#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct DiffRequest {
  std::vector<double> energy;  // thresholds
  std::vector<Role> matrices;  // none: the projections that are there
  LayerSelection layers;
  bool per_head = false;
};

/// Rows: each matrix that both models have in the same shape; the others are skipped with a reason.
/// Throws Error(numerical) where there is none.
void run_diff(const Model& base, const Model& tuned, const DiffRequest& request,
              const Context& context, RowSink& sink);

}  // namespace attnscope
