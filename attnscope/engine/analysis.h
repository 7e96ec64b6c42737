// An analysis as the runner sees it: how an item is computed, what it costs and reads, and which
// rows it gives.
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

// From outcomes to the rows of a report.

/// The model, layer and matrix of outcomes: the first fields of their rows.
struct RowPlace {
  std::string model;
  std::optional<std::int64_t> layer;  // none for a tensor by name
  std::string matrix;
};

/// Turns outcomes into rows. `add` is called for each item in the order of the rows, `finish` once
/// at the end.
struct RowMaker {
  std::function<void(const RowPlace&, std::span<const Outcome>)> add;
  std::function<void()> finish = [] {};
};

/// For rows that need several items: `Rows` is constructed with the sink, collects outcomes in
/// add(), and gives the remaining rows in finish().
template <typename Rows>
RowMaker gathered_rows(RowSink& sink) {
  const auto rows = std::make_shared<Rows>(sink);
  return {.add = [rows](const RowPlace& place,
                        std::span<const Outcome> outcomes) { rows->add(place, outcomes); },
          .finish = [rows] { rows->finish(); }};
}

/// A row for each outcome, which names its role in `role_field`: "matrix", "circuit".
RowMaker rows_with_heads(RowSink& sink, const char* role_field = "matrix");

/// The same without the field `head`, for analyses of whole matrices.
RowMaker rows_without_heads(RowSink& sink);

/// The outcomes of a matrix that is skipped as a whole: one for itself and one for each of its
/// `heads`, all with that reason.
std::vector<Outcome> all_skipped(const std::string& reason, std::int64_t heads);

/// The entry of a report for a skipped outcome, and the text of an outcome's note.
Skipped skipped_entry(const RowPlace& place, const Outcome& outcome);
std::string note_of(const RowPlace& place, const Outcome& outcome);

/// What the items of a run share, made before the first of them. An analysis derives its own type
/// and knows that its sources have no other.
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
  SharedResources* shared = nullptr;             // null: each item makes its own
  std::span<BatchWatcher* const> watchers = {};  // Context::watchers
};

/// A source for each model. The models must outlive them.
std::vector<ModelSource> sources_of(std::span<const Model> models);

struct Cost {
  double flops = 0;                // arithmetic, for the order of items and the time left
  std::uint64_t memory_bytes = 0;  // peak memory beside the mapped files
};

struct Analysis {
  std::string_view name;
  std::string_view command;                    // whose report has its rows
  CountedNoun items = {"matrix", "matrices"};  // what progress calls the items
  /// Roles that an item may name; empty: items name a layer or a pair of layers, and no role.
  std::span<const Role> roles = {};
  bool takes_experts = false;  // an item may name experts, whose role it is
  bool takes_tensors = false;  // an item may name a tensor in place of a layer
  bool takes_batches = false;  // an item is a batch of sequences, and names no layer
  /// The item's outcomes, in the order of their rows. Called on any thread, for several items at
  /// the same time.
  std::vector<Outcome> (*compute)(const WorkItem&, const ModelSource&, const Compute&);
  Cost (*cost)(const WorkItem&, const ModelSource&);
  /// Names everything that the outcomes depend on, beside the analysis and its parameters. Items
  /// with equal inputs share outcomes, in a run and in a store.
  void (*add_inputs)(ItemInputs&, const WorkItem&, const ModelSource&);
  RowMaker (*make_rows)(RowSink&);
  /// Throws Error(usage) if the parameters of an item are meaningless for its model; null: they
  /// never are.
  void (*check_parameters)(const WorkItem&, const ModelSource&) = nullptr;
  /// Adds this analysis's own facts to a model's facts in reports; may be null.
  void (*add_model_facts)(Record& facts) = nullptr;
};

/// The inputs of most analyses: a role of one layer, or of its experts, and the shape of its model.
void add_role_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source);

}  // namespace attnscope
