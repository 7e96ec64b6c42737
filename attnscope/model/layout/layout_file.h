// A layout file: an architecture and its sizes in one file, for checkpoints of unknown
// architectures. docs/formats.md describes it.
#pragma once

#include <cstdint>
#include <string_view>

#include "attnscope/model/model.h"

namespace attnscope {

/// From the text of a layout file, "attnscope-layout/1". Throws Error(format).
ModelSpec parse_layout(std::string_view text, std::string_view where);

/// Throws Error(format) for the first tensor name of the model's layout that matches no tensor of
/// its checkpoint. Names that the index puts into missing files are left out.
void refuse_unmatched_patterns(const Model& model);

/// The last layer whose projections the files hold under the names of the layout.
std::int64_t last_layer_of_files(const Model& model);

}  // namespace attnscope
