// Interface of an analysis as seen by the runner: how an item is computed, what it costs and reads,
// and which rows result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/engine/item_inputs.h"
#include "attnscope/engine/outcome.h"
#include "attnscope/engine/progress.h"
#include "attnscope/engine/work_item.h"
#include "attnscope/model/model.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

// Conversion of outcomes to the rows of a report.

/// Model, layer and matrix of some outcomes: the first fields of their rows.
struct RowPlace {
  std::string model;
  std::optional<std::int64_t> layer;  // empty for a tensor selected by name
  std::string matrix;
};

/// Turns outcomes into rows. `add` is called for each item in the order of the rows, `finish` once
/// at the end.
struct RowMaker {
  std::function<void(const RowPlace&, std::span<const Outcome>)> add;
  std::function<void()> finish = [] {};
};

/// Makes rows that need several items. `Rows` is constructed with the sink, collects outcomes in
/// add(), and writes the remaining rows in finish().
template <typename Rows>
RowMaker gathered_rows(RowSink& sink) {
  const auto rows = std::make_shared<Rows>(sink);
  return {.add = [rows](const RowPlace& place,
                        std::span<const Outcome> outcomes) { rows->add(place, outcomes); },
          .finish = [rows] { rows->finish(); }};
}

/// Writes one row per outcome, with its role in the field `role_field`: "matrix", "circuit".
RowMaker rows_with_heads(RowSink& sink, const char* role_field = "matrix");

/// Like rows_with_heads(), without the field `head`: for analyses of whole matrices.
RowMaker rows_without_heads(RowSink& sink);

/// Returns the outcomes of a matrix that is skipped entirely: one for the matrix and one for each
/// of its `heads`, all with this reason.
std::vector<Outcome> all_skipped(const std::string& reason, std::int64_t heads);

/// Returns the report entry of a skipped outcome, and the text of an outcome's note.
Skipped skipped_entry(const RowPlace& place, const Outcome& outcome);
std::string note_of(const RowPlace& place, const Outcome& outcome);

/// Resources that the items of a run share, created before the first item. Each analysis derives
/// its own type, and its sources hold only that type.
class SharedResources {
 public:
  virtual ~SharedResources() = default;
};

/// One checkpoint of a run, and its entry in rows and reports.
struct ModelSource {
  const Checkpoint* checkpoint = nullptr;
  const Model* model = nullptr;                  // null: only tensors by name are requested
  std::string name;                              // in the `model` field of its rows
  Record facts;                                  // its entry in `models` of the report
  SharedResources* shared = nullptr;             // null: each item creates its own
  std::span<BatchWatcher* const> watchers = {};  // Context::watchers
};

/// Returns one source per model. The models must outlive the sources.
std::vector<ModelSource> sources_of(std::span<const Model> models);

struct Cost {
  double flops = 0;                // arithmetic; decides the order of items and the time left
  std::uint64_t memory_bytes = 0;  // peak memory in addition to the mapped files
};

struct Analysis {
  std::string_view name;
  std::string_view command;                    // the command that reports its rows
  CountedNoun items = {"matrix", "matrices"};  // name of the items in progress reports
  /// Roles that an item may have. Empty if items are layers or pairs of layers, without a role.
  std::span<const Role> roles = {};
  bool takes_experts = false;  // an item may name experts, which have the role
  bool takes_tensors = false;  // an item may name a tensor instead of a layer
  bool takes_batches = false;  // an item is a batch of sequences and names no layer
  /// Returns the item's outcomes in the order of their rows. Called on any thread, for several
  /// items at the same time.
  std::vector<Outcome> (*compute)(const WorkItem&, const ModelSource&, const Compute&);
  Cost (*cost)(const WorkItem&, const ModelSource&);
  /// Adds everything that the outcomes depend on, in addition to the analysis and its parameters.
  /// Items with equal inputs share outcomes, within a run and in a store.
  void (*add_inputs)(ItemInputs&, const WorkItem&, const ModelSource&);
  RowMaker (*make_rows)(RowSink&);
  /// Throws Error(usage) if the parameters of an item do not apply to its model. Null if they
  /// always apply.
  void (*check_parameters)(const WorkItem&, const ModelSource&) = nullptr;
  /// Adds fields of this analysis to a model's info in reports. May be null.
  void (*add_model_facts)(Record& facts) = nullptr;
};

/// Adds the inputs of most analyses: a role of one layer or of its experts, and the shape of its
/// model.
void add_role_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source);

}  // namespace attnscope
