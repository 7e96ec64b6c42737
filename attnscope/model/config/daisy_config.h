// What daisy's layers add to GPT-2's: outputs of earlier layers, and embeddings among the values.
#pragma once

#include <vector>

#include "attnscope/model/architecture.h"
#include "attnscope/model/layer_spec.h"

namespace attnscope {

/// Sets the inputs and value embeddings of all layers. Source: jonathanmiddleton/daisy-wee,
/// models/gpt2/gpt_core.py.
void set_daisy(std::vector<LayerSpec>& specs, const DaisyRule& rule);

}  // namespace attnscope
