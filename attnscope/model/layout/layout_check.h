// Whether a layout file fits the tensors of its checkpoint.
#pragma once

#include <cstdint>

#include "attnscope/model/model.h"

namespace attnscope {

/// Throws Error(format) for the first tensor name of the layout that fits no tensor of the files.
/// Names of files that are not there are left out.
void refuse_unmatched_patterns(const Model& model);

/// Of the layers whose projections the files hold under the layout's names, the last one.
std::int64_t last_layer_of_files(const Model& model);

}  // namespace attnscope
