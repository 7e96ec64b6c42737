// Ablates components of a classifier and measures the change of a label's logit.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct AblateLabelRequest {
  std::vector<std::vector<TokenIds>> texts;  // per model
  Record parameters;                         // report parameters that describe their source
  std::string label;                         // name or number
  LayerSelection layers;
  std::string parts;         // see AblateRequest
  std::string how = "mean";  // mean or zero
};

/// Rows: as for run_ablate(), with the change of the label's logit, mean over texts. Throws the
/// errors of label_named() and ForwardPass.
void run_ablate_labels(std::span<const Model> models, const AblateLabelRequest& request,
                       const Context& context, RowSink& sink);

}  // namespace attnscope
