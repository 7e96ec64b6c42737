// What spectra of experts have beside those of other matrices.
#pragma once

#include <vector>

#include "attnscope/model/model.h"
#include "attnscope/results/record.h"
#include "attnscope/run/analysis.h"

namespace attnscope {

/// Adds where the energy ranks of a layer's experts lie, whose rows' fields are given.
void add_rank_spread(Record& fields, const std::vector<const Record*>& experts);

/// Of an item that names experts, which are read one after another.
Cost expert_spectra_cost(const WorkItem& item, const Model& model);

}  // namespace attnscope
