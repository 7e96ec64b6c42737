// Shared weights of a model: a matrix that several layers share counts once in totals.
#pragma once

#include <cstdint>
#include <string>

#include "attnscope/rows/record.h"

namespace attnscope {

/// Whether any layers of the model share weights.
bool shares_weights(const Record& model);

/// The first layer that has the same `matrix` as `layer`; `layer` itself if it has its own.
std::int64_t first_with_same(const Record& model, const std::string& matrix, std::int64_t layer);

}  // namespace attnscope
