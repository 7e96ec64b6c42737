// The strongest token pairs of one head: `directions --pairs`.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/engine/context.h"
#include "attnscope/features/directions/run.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct DirectionPairsRequest {
  DirectionsRequest of;     // ov or qk, with a single head and layer
  std::int64_t count = 20;  // number of pairs
};

/// Rows: the strongest token pairs of one head. Throws Error(usage) if the request is not for a
/// single head, Error(unsupported) if tokens cannot describe its input or output.
void run_direction_pairs(std::span<const Model> models, const DirectionPairsRequest& request,
                         const Context& context, RowSink& sink);

}  // namespace attnscope
