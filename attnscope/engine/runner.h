// The runner of all commands. It looks items up in the store, computes equal items once, reads
// ahead, keeps to the memory budget, and gives rows to the sink in order.
#pragma once

#include <span>
#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// The work of one command: items of one analysis, all with the same parameters, in the order of
/// their rows: model by model, and in each model layer by layer.
struct Plan {
  const Analysis* analysis = nullptr;
  Record parameters;  // of every item
  std::vector<WorkItem> items;

  /// An item of this analysis with these parameters.
  WorkItem& add(std::size_t model, std::optional<std::int64_t> layer);
};

/// Computes the plan's items, largest first, and gives their rows to the sink in the plan's order,
/// whatever the number of threads. Adds the sources' facts to `head` as its models. Throws Stopped,
/// and whatever an item, the sink or the progress callback throws; items under way are then
/// stopped.
void run_plan(const Plan& plan, std::span<const ModelSource> sources, ReportHead head,
              const Context& context, RowSink& sink);

}  // namespace attnscope
