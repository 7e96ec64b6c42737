// The facts of a model, as in reports.
#pragma once

#include "attnscope/model/inventory.h"
#include "attnscope/results/record.h"

namespace attnscope {

/// One entry of a report's `models`.
Record facts_record(const ModelFacts& facts);

}  // namespace attnscope
