// Logit lens of a classifier: the label that each state of the residual stream predicts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/engine/context.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct LensLabelRequest {
  std::vector<std::vector<TokenIds>> texts;  // per model
  Record parameters;                         // report parameters that describe their source
  std::string label;                         // name or number
  bool middles = false;                      // also decode states within layers
};

/// Rows: each state, from the first layer to the last, as means over texts. Each state passes the
/// final norm and the classification head. Throws the errors of label_named() and ForwardPass.
void run_lens_labels(std::span<const Model> models, const LensLabelRequest& request,
                     const Context& context, RowSink& sink);

}  // namespace attnscope
