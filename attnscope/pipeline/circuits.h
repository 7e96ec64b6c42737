// `circuits`: models × layers × circuits (summed over heads, then each head) → rows of measures;
// with `composition`, pairs of heads of different layers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attnscope/pipeline/circuit_weights.h"
#include "attnscope/pipeline/selection.h"
#include "attnscope/pipeline/work_queue.h"
#include "attnscope/results/outcome.h"
#include "attnscope/results/report.h"
#include "attnscope/store/store.h"

namespace attnscope {

struct CircuitsRequest {
  std::vector<Role> circuits;  // of qk and ov; empty: those that each model has
  LayerSelection layers;
  std::vector<double> thresholds = {0.9, 0.99};  // ascending, each in (0, 1)
  CircuitVariant variant;
  bool composition = false;      // pairs of heads instead of heads
  bool all_eigenvalues = false;  // copying scores of sums over heads above order 1024 too
  Resources resources;
  Store* store = nullptr;  // keeps finished rows; null: none does
};

/// The report's parameters, which say the variant.
Record circuits_parameters(const CircuitsRequest& request);

/// Rows by model, layer, circuit, then the sum over heads before each head.
/// The same request gives the same report whatever the number of threads.
Report run_circuits(std::span<const Model> models, const CircuitsRequest& request,
                    const ProgressFn& on_progress);

/// How much of what an earlier head writes a later one reads, by its queries, keys or values:
/// every head of every chosen layer with every head of every later one. Rows by model, later layer,
/// earlier layer, kind, later head, earlier head. Needs both circuits; biases are refused.
Report run_composition(std::span<const Model> models, const CircuitsRequest& request,
                       const ProgressFn& on_progress);

/// Adds what came of one later layer: pairs, circuits that were skipped, notes.
void add_composition(Report& report, const std::string& model, std::int64_t later_layer,
                     std::span<const Outcome> outcomes);

}  // namespace attnscope
