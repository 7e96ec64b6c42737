// What came of one matrix, before it is known at which places of which models that matrix stands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attnscope/results/record.h"

namespace attnscope {

/// What came of one matrix of a layer, or of one head of it: the fields of a row, or why there are
/// none. The ids of the row (model, layer, matrix, head) are added later, since layers that share
/// weights share outcomes.
struct Outcome {
  std::optional<std::int64_t> head;  // none: the whole matrix
  Record fields;
  std::string skipped;  // the reason; empty where there are fields
  std::string note;     // what a reader should know all the same
};

}  // namespace attnscope
