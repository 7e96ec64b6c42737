// The one runner of all commands: looks items up in the store, shares equal weights, reads ahead,
// keeps to the memory budget, and gives rows on in their order.
#pragma once

#include <span>
#include <vector>

#include "attnscope/pipeline/analysis.h"
#include "attnscope/pipeline/context.h"
#include "attnscope/results/sink.h"

namespace attnscope {

/// The work of one command: items of one analysis with the same parameters, in the order of their
/// rows. Items of one model stand together, and so do those of one layer.
struct Plan {
  const Analysis* analysis = nullptr;
  Record parameters;  // of every item
  std::vector<WorkItem> items;

  /// An item of this analysis with these parameters.
  WorkItem& add(std::size_t model, std::optional<std::int64_t> layer);
};

/// Computes the plan's items, largest first, and gives their rows to the sink in the plan's order,
/// whatever the number of threads. Fills in the head's models. Throws Stopped, what an item throws,
/// and what the sink or the progress callback throws; items under way are then stopped too.
void run_plan(const Plan& plan, std::span<const Source> sources, ReportHead head,
              const Context& context, RowSink& sink);

}  // namespace attnscope
