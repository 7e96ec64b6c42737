// Rows of a store as the report of the command that computed them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attnscope/results/sink.h"
#include "attnscope/store/store.h"

namespace attnscope {

/// Gives every row of a set, or those of one model, to the sink. Rows are ordered by model, layer
/// and matrix; matrices as the run asked for them, or in the usual order where several runs asked
/// differently. A parameter in which the runs differ is null in the report. Where two models have
/// the same name, their paths tell them apart. Throws Error(usage) for a model that the set lacks,
/// Error(unsupported) for an analysis that this program does not know.
void send_stored(Store& store, std::int64_t set, const std::optional<std::string>& model,
                 RowSink& sink);

}  // namespace attnscope
