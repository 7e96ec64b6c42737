// Spectra requested by one work item: of a role in a layer, of its heads or experts, or of a named
// tensor.
#pragma once

#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/record.h"

namespace attnscope {

/// Whether the item requests heads in addition to the whole matrix.
bool spectrum_per_head(const WorkItem& item);

/// One outcome for the whole matrix, then one per head or expert, in order.
std::vector<Outcome> compute_spectra(const WorkItem& item, const ModelSource& source,
                                     const Compute& compute);

// Additional fields of the spectra of experts.

/// Adds quartiles and extremes of the energy ranks of a layer's experts, from the fields of their
/// rows.
void add_rank_spread(Record& fields, const std::vector<const Record*>& experts);

/// Cost of an item with experts, which are read one after another.
Cost expert_spectra_cost(const WorkItem& item, const Model& model);

}  // namespace attnscope
