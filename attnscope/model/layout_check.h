// Whether a layout file fits the tensors of its checkpoint.
#pragma once

#include "attnscope/model/model.h"

namespace attnscope {

/// Throws Error(format) for the first tensor name of the layout that fits no tensor of the files.
/// Names of files that are not there are left out.
void refuse_unmatched_patterns(const Model& model);

}  // namespace attnscope
