// What an analysis is to the runner: how an item of it is computed, what that costs and reads, and
// what rows come of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/model/model.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/results/outcome.h"
#include "attnscope/run/context.h"
#include "attnscope/run/item_inputs.h"
#include "attnscope/run/progress.h"
#include "attnscope/run/rows.h"
#include "attnscope/run/work_item.h"

namespace attnscope {

class ForwardPass;
class PreparedLayers;

/// One checkpoint of a run, and what rows and reports say of it.
struct Source {
  const Checkpoint* checkpoint = nullptr;
  const Model* model = nullptr;  // null: only tensors by name are asked for
  std::string name;              // in the `model` field of its rows
  Record facts;                  // its entry in `models` of the report
  /// What items of the run share, for those that prepare layers; null: each prepares its own.
  PreparedLayers* prepared = nullptr;
  /// The model ready to run, for items that run it; null: each makes it ready.
  const ForwardPass* forward = nullptr;
  const MapsFn* on_maps = nullptr;  // Context::on_maps; null: nobody looks
};

/// A source for each model. The models must outlive them.
std::vector<Source> sources_of(std::span<const Model> models);

struct Cost {
  double flops = 0;                // arithmetic, for the order of items and the time left
  std::uint64_t memory_bytes = 0;  // the most that is held at once, beside the mapped files
};

struct Analysis {
  std::string_view name;
  std::string_view command;                    // whose report has its rows
  CountedNoun items = {"matrix", "matrices"};  // what an item is, where progress counts them
  /// That an item may name; empty: it names a layer or a pair of layers, and no role.
  std::span<const Role> roles = {};
  bool takes_tensors = false;  // an item may name a tensor in place of a layer
  bool takes_batches = false;  // an item is a batch of sequences, and names no layer
  /// The item's outcomes, in the order of their rows. Called on any thread, for several items at
  /// once.
  std::vector<Outcome> (*compute)(const WorkItem&, const Source&, const Compute&);
  Cost (*cost)(const WorkItem&, const Source&);
  /// Names everything that the outcomes depend on beside the analysis and its parameters: items
  /// with equal inputs share outcomes, in a run and in a store.
  void (*add_inputs)(ItemInputs&, const WorkItem&, const Source&);
  RowMaker (*make_rows)(RowSink&);
  /// Throws Error(usage) where the parameters of an item have no meaning for its model; null: they
  /// always have one.
  void (*check_parameters)(const WorkItem&, const Source&) = nullptr;
  /// Adds to a model's facts what reports of this analysis say beside the usual ones; may be null.
  void (*add_model_facts)(Record& facts) = nullptr;
};

/// The inputs of most analyses: a role of one layer and the shape of its model.
void add_role_inputs(ItemInputs& inputs, const WorkItem& item, const Source& source);

}  // namespace attnscope
