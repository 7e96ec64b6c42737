// Compares two checkpoints matrix by matrix, to measure the change by fine-tuning.
#pragma once

#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct DiffRequest {
  std::vector<double> energy;  // energy thresholds
  std::vector<Role> matrices;  // empty: the stored projections
  LayerSelection layers;
  bool per_head = false;
};

/// Rows: each matrix that both models have in the same shape; others are skipped with a reason.
/// Throws Error(numerical) if there is no such matrix.
void run_diff(const Model& base, const Model& tuned, const DiffRequest& request,
              const Context& context, RowSink& sink);

}  // namespace attnscope
