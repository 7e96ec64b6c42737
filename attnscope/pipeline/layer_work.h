// One computation over models × layers × matrices, on threads, into rows of a fixed order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/model/model.h"
#include "attnscope/pipeline/selection.h"
#include "attnscope/pipeline/stored_items.h"
#include "attnscope/pipeline/work_queue.h"
#include "attnscope/results/outcome.h"
#include "attnscope/results/report.h"

namespace attnscope {

/// Every row of a matrix that is skipped as a whole: its own and one for each of `heads`.
std::vector<Outcome> all_skipped(const std::string& reason, std::int64_t heads);

struct LayerWork {
  /// The rows of one matrix of one layer, the whole one before its heads. Runs on any thread.
  std::function<std::vector<Outcome>(const Model&, std::int64_t layer, Role)> compute;
  /// Arithmetic that `compute` will take, for order and for the time left.
  std::function<double(const Model&, Role)> flops;
  /// What `compute` holds at once, beside the mapped files.
  std::function<std::uint64_t(const Model&, std::int64_t layer, Role)> memory_bytes;
  std::string_view role_field = "matrix";  // how rows name the role: "matrix", "circuit"
  /// Whether layers with the same tensors have the same outcomes (ALBERT); false where something
  /// beside the weights differs by layer.
  bool shares_equal_weights = true;

  Store* store = nullptr;   // keeps finished rows; null: none does
  StoredAnalysis analysis;  // how it names them
  /// What `compute` depends on beside the role, the matrices behind it and the model's shape; may
  /// be null.
  std::function<void(ItemInputs&, const Model&, std::int64_t layer, Role)> add_inputs;
};

/// What a role's stored matrices take in the file.
std::uint64_t stored_bytes(const Model& model, std::int64_t layer, Role role);

/// Asks the system to read them soon, and does not wait for them.
void prefetch(const Model& model, std::int64_t layer, Role role);

/// Fills the report's models, rows, skipped and notes. Rows go by model, layer, role (in the order
/// of `roles`, one list for each model), then as `compute` gives them, whatever the number of
/// threads.
void run_layers(Report& report, std::span<const Model> models,
                std::span<const std::vector<Role>> roles, const LayerSelection& layers,
                const LayerWork& work, const Resources& resources, const ProgressFn& on_progress);

/// Adds one outcome as a row, a skipped entry and a note. `layer` is none for a tensor by name.
void add_outcome(Report& report, const std::string& model, std::optional<std::int64_t> layer,
                 std::string_view role_field, const std::string& role, const Outcome& outcome);

}  // namespace attnscope
