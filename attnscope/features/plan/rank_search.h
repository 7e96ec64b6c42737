// The cost of each rank of a matrix, for allocating ranks under a budget.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/features/framework/selections.h"
#include "attnscope/features/plan/methods/rank_allocation.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// The matrices whose ranks are allocated, with their measurements.
struct RankTable {
  std::vector<LayerMatrix> places;
  std::vector<RankOptions> options;
  std::vector<double> probes;    // KL at half the break-even rank, in nats
  std::vector<Skipped> skipped;  // matrices that stay unchanged

  std::int64_t parameters() const;
};

}  // namespace attnscope
