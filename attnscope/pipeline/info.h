// `info`: the facts of each model and what each of its tensors is.
#pragma once

#include <span>

#include "attnscope/model/inventory.h"
#include "attnscope/results/report.h"

namespace attnscope {

/// One entry of a report's `models`.
Record facts_record(const ModelFacts& facts);

/// Rows: model by model, tensors in the order of their files.
Report run_info(std::span<const Model> models);

/// This machine and the libraries in use, one row for each.
Report run_system_info(std::string_view version);

}  // namespace attnscope
