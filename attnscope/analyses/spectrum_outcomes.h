// The spectra that one item of work asks for: of a role in a layer, of its heads or experts, or of
// a named tensor.
#pragma once

#include <vector>

#include "attnscope/run/analysis.h"

namespace attnscope {

/// Whether the item's heads are asked for beside the whole.
bool spectrum_per_head(const WorkItem& item);

/// One outcome for the whole, then one for each head or expert, in order.
std::vector<Outcome> compute_spectra(const WorkItem& item, const ModelSource& source,
                                     const Compute& compute);

}  // namespace attnscope
