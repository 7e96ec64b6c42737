// The ranks that matrices have on a text: of what they give, not of their weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct ActivationRequest {
  std::vector<TokenIds> windows;  // of the text
  std::string source;             // its name
  std::vector<double> energy;     // thresholds
  std::vector<Role> matrices;     // none: the projections that are there
  LayerSelection layers;
};

/// Rows: each matrix, its own ranks, those of W x on the text, and those of x. Throws Error(usage)
/// for a product of matrices; as ForwardPass does.
void run_activation_spectrum(const Model& model, const ActivationRequest& request,
                             const Context& context, RowSink& sink);

}  // namespace attnscope
