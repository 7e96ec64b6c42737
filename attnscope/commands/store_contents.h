// What a store holds, as rows of their own: `export --list`.
#pragma once

#include <vector>

#include "attnscope/results/sink.h"
#include "attnscope/store/store.h"

namespace attnscope {

/// The sets that rows can be printed of: steps of plans are none.
std::vector<Store::SetEntry> sets_of_rows(Store& store);

/// A row for each model of each set. Throws as the store does.
void send_contents(Store& store, RowSink& sink);

}  // namespace attnscope
