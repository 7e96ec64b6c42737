// What an analysis is to the runner: how an item of it is computed, what that costs and reads, and
// what rows come of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/model/model.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/pipeline/item_inputs.h"
#include "attnscope/pipeline/rows.h"
#include "attnscope/pipeline/work_item.h"
#include "attnscope/results/outcome.h"

namespace attnscope {

class PreparedLayers;

/// One checkpoint of a run, and what is known of it.
struct Source {
  const Checkpoint* checkpoint = nullptr;
  const Model* model = nullptr;  // null: only tensors by name are asked for
  std::string name;              // that rows carry
  Record facts;                  // its entry of a report
  /// What items of the run share, for those that prepare layers; null: each prepares its own.
  PreparedLayers* prepared = nullptr;
};

/// Models of a run, which must outlive the sources.
std::vector<Source> sources_of(std::span<const Model> models);

struct Cost {
  double flops = 0;                // arithmetic, for the order of items and the time left
  std::uint64_t memory_bytes = 0;  // the most that is held at once, beside the mapped files
};

struct Analysis {
  std::string_view name;
  std::string_view command;  // that prints its rows
  int revision = 1;          // raised when the numbers of rows change
  /// What came of the item, in the order of its rows. Runs on any thread, at the same time as
  /// others.
  std::vector<Outcome> (*compute)(const WorkItem&, const Source&, const Compute&);
  Cost (*cost)(const WorkItem&, const Source&);
  /// Names all that the outcomes depend on beside the analysis and its parameters.
  void (*add_inputs)(ItemInputs&, const WorkItem&, const Source&);
  RowMaker (*make_rows)(RowSink&);
  /// Adds what this analysis tells of each model; null: nothing.
  void (*add_model_facts)(Record& facts) = nullptr;
};

/// The inputs of most analyses: a role of one layer and the shape of its model.
void add_role_inputs(ItemInputs& inputs, const WorkItem& item, const Source& source);

}  // namespace attnscope
