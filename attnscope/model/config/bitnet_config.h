// Reads from a quantization_config of BitNet how the inputs of matrices are rounded.
#pragma once

#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Sets LayerSpec::rounds_inputs if the files are quantized with BitNet, or why the forward pass
/// cannot be computed. The layers must be set.
void set_rounded_inputs(ModelSpec& spec);

}  // namespace attnscope
