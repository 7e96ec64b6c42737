// Info of a model, as in reports.
#pragma once

#include "attnscope/model/summary.h"
#include "attnscope/rows/record.h"

namespace attnscope {

/// Returns one entry of a report's `models`.
Record facts_record(const ModelSummary& facts);

}  // namespace attnscope
