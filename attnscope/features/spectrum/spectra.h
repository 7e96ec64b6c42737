// The spectra that one item of work asks for: of a role in a layer, of its heads or experts, or of
// a named tensor.
#pragma once

#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/record.h"

namespace attnscope {

/// Whether the item's heads are asked for beside the whole.
bool spectrum_per_head(const WorkItem& item);

/// One outcome for the whole, then one for each head or expert, in order.
std::vector<Outcome> compute_spectra(const WorkItem& item, const ModelSource& source,
                                     const Compute& compute);

// What spectra of experts have beside those of other matrices.

/// Adds where the energy ranks of a layer's experts lie, whose rows' fields are given.
void add_rank_spread(Record& fields, const std::vector<const Record*>& experts);

/// Of an item that names experts, which are read one after another.
Cost expert_spectra_cost(const WorkItem& item, const Model& model);

}  // namespace attnscope
