// What a fine-tune changed: the difference of two checkpoints, matrix by matrix.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/features/diff/adapter.h"
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

/// How large the factors of an adapter are.
struct AdapterRank {
  double energy = 0.9;               // share of the squared sum that each keeps, unless
  std::optional<std::int64_t> rank;  // all have this one
};

/// The adapter that makes `tuned` of `base`, as far as its ranks go: W_tuned - W_base by its
/// singular vectors, and whole what is no linear layer. `notes` is told what it cannot hold. Throws
/// Error(numerical) where nothing changed, Error(unsupported) where experts did.
Adapter make_adapter(const Model& base, const Model& tuned, const AdapterRank& rank,
                     const Context& context, RowSink& notes);

}  // namespace attnscope
