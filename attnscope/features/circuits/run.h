// `circuits`: measures per model, layer and circuit (sum over heads, then each head); with
// `composition`, scores of pairs of heads in different layers.
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
  std::vector<Role> circuits;  // qk, ov; empty: those that each model has
  LayerSelection layers;
  /// Options: "energy", ascending thresholds in (0, 1); the fields that variant_of() reads;
  /// "all_eigenvalues", copying scores of sums over heads of order above 1024, too.
  Record options;
  bool composition = false;          // pairs of heads instead of single heads
  std::optional<MlaText> text = {};  // for MLA models; empty: white input
};

/// The report's parameters, which contain the whole request.
Record circuits_parameters(const CircuitsRequest& request);

const Analysis& circuits_analysis();

/// Rows by model, layer and circuit, the sum over heads before each head.
void run_circuits(std::span<const Model> models, const CircuitsRequest& request,
                  const Context& context, RowSink& sink);

}  // namespace attnscope
