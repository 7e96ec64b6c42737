// Quantized safetensors: combines the tensors that store a weight into one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

/// Whether weights of this quantization method are supported.
bool is_known_quantization(std::string_view method);

/// Returns the checkpoint's tensors, with one tensor "….weight" per quantized weight instead of its
/// parts ("….qweight", "….scales", …). Its source decodes the parts. `method` and `config` (a JSON
/// object, as text) are config.json's quantization_config, both empty if there is none. If the
/// method is unknown, only weights with self-describing parts are combined. `config_file` is named
/// in messages. Throws Error(format) for parts that contradict each other, Error(unsupported) for
/// an unsupported variant. Reads tensor data only if they define a shape.
std::vector<CheckpointTensor> composed_tensors(const Checkpoint& checkpoint,
                                               std::string_view method, std::string_view config,
                                               std::string_view config_file);

}  // namespace attnscope
