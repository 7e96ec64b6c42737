// The runner of all commands. It looks up items in the store, computes equal items once, reads
// ahead, stays within the memory budget, and writes rows to the sink in order.
#pragma once

#include <span>
#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// The work of one command: items of one analysis with the same parameters, in the order of their
/// rows (by model, then by layer).
struct Plan {
  const Analysis* analysis = nullptr;
  Record parameters;  // parameters of every item
  std::vector<WorkItem> items;

  /// Appends an item of this analysis with these parameters.
  WorkItem& add(std::size_t model, std::optional<std::int64_t> layer);
};

/// Computes the plan's items, largest first, and writes their rows to the sink in the plan's order,
/// for any number of threads. Adds the info of the sources to `head` as its models. Throws Stopped,
/// and whatever an item, the sink or the progress callback throws. Running items are then stopped.
void run_plan(const Plan& plan, std::span<const ModelSource> sources, ReportHead head,
              const Context& context, RowSink& sink);

}  // namespace attnscope
