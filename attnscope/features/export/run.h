// Rows of a store as the report of the command that computed them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/engine/store/store.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Gives every row of a set, or those of one model, to the sink. Rows are ordered by model, layer
/// and matrix; matrices as the run asked for them, or in the usual order where several runs asked
/// differently. A parameter in which the runs differ is null in the report. Where two models have
/// the same name, their paths tell them apart. Throws Error(usage) for a model that the set lacks,
/// Error(unsupported) for an analysis that this program does not know.
void send_stored(Store& store, std::int64_t set, const std::optional<std::string>& model,
                 RowSink& sink);

// What a store holds, as rows of their own: `export --list`.

/// The sets that rows can be printed of: steps of plans are none.
std::vector<Store::SetEntry> sets_of_rows(Store& store);

/// A row for each model of each set. Throws as the store does.
void send_contents(Store& store, RowSink& sink);

}  // namespace attnscope
