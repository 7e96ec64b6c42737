// What a model's facts say of layers that have one and the same matrix: it counts once in totals.
#pragma once

#include <cstdint>
#include <string>

#include "attnscope/rows/record.h"

namespace attnscope {

/// Whether any layers of the model share weights.
bool shares_weights(const Record& model);

/// The first of the layers that have the same `matrix` as `layer`; `layer` where it has its own.
std::int64_t first_with_same(const Record& model, const std::string& matrix, std::int64_t layer);

}  // namespace attnscope
