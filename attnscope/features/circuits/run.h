// `circuits`: models × layers × circuits (summed over heads, then each head) → rows of measures;
// with `composition`, pairs of heads of different layers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/features/common/circuit_weights.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/features/common/mla_latents.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct CircuitsRequest {
  std::vector<Role> circuits;  // of qk and ov; empty: those that each model has
  LayerSelection layers;
  /// What is asked of each: "energy", thresholds ascending, each in (0, 1); what variant_of()
  /// reads; "all_eigenvalues", copying scores of sums over heads above order 1024 too.
  Record options;
  bool composition = false;          // pairs of heads instead of heads
  std::optional<MlaText> text = {};  // of models with latents; none: on white input
};

/// The report's parameters, which say all of it.
Record circuits_parameters(const CircuitsRequest& request);

const Analysis& circuits_analysis();

/// Rows by model, layer, circuit, then the sum over heads before each head.
void run_circuits(std::span<const Model> models, const CircuitsRequest& request,
                  const Context& context, RowSink& sink);

}  // namespace attnscope
