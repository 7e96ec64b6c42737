// Quantised safetensors: weights that are several tensors become one each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

/// Whether the parts of weights of such a method are known.
bool is_known_quantisation(std::string_view method);

/// The checkpoint's tensors, with each quantised weight as one tensor "….weight" whose source
/// decodes its parts ("….qweight", "….scales", …), which are no more listed. `method` and `config`
/// (a JSON object, as text) are config.json's quantization_config, both empty where there is none.
/// Where the method is not known, weights are composed whose parts say all there is to say.
/// `config_file` is named in
/// messages. Throws Error(format) for parts that contradict each other, Error(unsupported) for a
/// variant that is not read. Tensor data are looked at only where they say a shape.
std::vector<CheckpointTensor> compose_quantised(const Checkpoint& checkpoint,
                                                std::string_view method, std::string_view config,
                                                std::string_view config_file);

}  // namespace attnscope
