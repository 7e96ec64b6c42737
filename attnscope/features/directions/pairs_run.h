// Pairs of tokens that one head joins: `read --pairs`.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/engine/context.h"
#include "attnscope/features/directions/run.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct DirectionPairsRequest {
  DirectionsRequest of;     // of ov or qk, with one head and one layer
  std::int64_t count = 20;  // pairs
};

/// Rows: the pairs of tokens that one head joins most strongly. Throws Error(usage) where it is not
/// one head, Error(unsupported) where tokens name no side of it.
void run_direction_pairs(std::span<const Model> models, const DirectionPairsRequest& request,
                         const Context& context, RowSink& sink);

}  // namespace attnscope
