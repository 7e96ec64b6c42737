// What ranks of single matrices cost, and which to take under a budget.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/features/framework/selections.h"
#include "attnscope/features/plan/methods/rank_allocation.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// What is known of the matrices whose ranks are allocated.
struct RankTable {
  std::vector<LayerMatrix> places;
  std::vector<RankOptions> options;
  std::vector<double> probes;    // KL at half the break-even rank, in nats
  std::vector<Skipped> skipped;  // that stay as they are

  std::int64_t parameters() const;
};

}  // namespace attnscope
