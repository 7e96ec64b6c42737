// Prints stored rows as a report of the command that computed them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/engine/store/store.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Sends every row of a set, or those of one model, to the sink. Rows are ordered by model, layer
/// and matrix. Matrices are in the order of the run, or in the default order if runs differ. A
/// parameter in which the runs differ is null in the report. Models with the same name are
/// distinguished by their paths. Throws Error(usage) for a model that the set lacks. Throws
/// Error(unsupported) for an analysis that this version does not know.
void send_stored(Store& store, std::int64_t set, const std::optional<std::string>& model,
                 RowSink& sink);

// Lists the contents of a store as rows: `export --list`.

/// The sets whose rows can be printed; plan steps are excluded.
std::vector<Store::SetEntry> sets_of_rows(Store& store);

/// Sends one row per model and set. Throws as the store does.
void send_contents(Store& store, RowSink& sink);

}  // namespace attnscope
