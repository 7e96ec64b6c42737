// Activation ranks on a text: of the inputs and outputs of matrices, not of their weights.
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
  std::vector<TokenIds> windows;  // windows of the text
  std::string source;             // name of the text
  std::vector<double> energy;     // thresholds
  std::vector<Role> matrices;     // empty: all projections of the model
  LayerSelection layers;
};

/// Rows: each matrix with the ranks of its weights, of W x on the text, and of x. Throws
/// Error(usage) for a product of matrices, and as ForwardPass does.
void run_activation_spectrum(const Model& model, const ActivationRequest& request,
                             const Context& context, RowSink& sink);

}  // namespace attnscope
