// Images of weights in a report.
#pragma once

#include <span>

#include "attnscope/features/framework/command.h"
#include "attnscope/page/report_file.h"

namespace attnscope {

/// Adds images of the attention matrices of the first and last layers in `layers`. Adds the cosine
/// similarities between query rows of each head, as far as space allows. Throws Stopped.
void add_matrix_images(std::span<const Model> models, const LayerSelection& layers,
                       const Session& session, ReportFile& file);

}  // namespace attnscope
