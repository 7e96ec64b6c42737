// Quantised safetensors: composes the several tensors of a weight into one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

/// Whether the parts of weights of such a method are known.
bool is_known_quantization(std::string_view method);

/// The checkpoint's tensors, with each quantised weight as one tensor "….weight" in place of its
/// parts ("….qweight", "….scales", …). Its source decodes them. `method` and `config` (a JSON
/// object, as text) are config.json's quantization_config, both empty if there is none. If the
/// method is unknown, only weights with self-describing parts are composed. `config_file` is named
/// in messages. Throws Error(format) for parts that contradict each other, Error(unsupported) for
/// an unsupported variant. Reads tensor data only where they define a shape.
std::vector<CheckpointTensor> composed_tensors(const Checkpoint& checkpoint,
                                               std::string_view method, std::string_view config,
                                               std::string_view config_file);

}  // namespace attnscope
