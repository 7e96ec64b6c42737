// Layout files: an architecture and its sizes in one file, for checkpoints of unknown
// architectures. docs/formats.md describes the format.
#pragma once

#include <cstdint>
#include <string_view>

#include "attnscope/model/model.h"

namespace attnscope {

/// Parses the text of a layout file, "attnscope-layout/1". Throws Error(format).
ModelSpec parse_layout(std::string_view text, std::string_view where);

/// Throws Error(format) for the first tensor name in the model's layout that matches no tensor of
/// its checkpoint. Skips names that the index assigns to missing files.
void refuse_unmatched_patterns(const Model& model);

/// Returns the last layer whose projections are in the files under the names of the layout.
std::int64_t last_layer_of_files(const Model& model);

}  // namespace attnscope
