// Gains of norms.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/analyses/read_weight.h"
#include "attnscope/model/model.h"

namespace attnscope {

using Gain = std::vector<double>;  // (n,), one factor for each number that a norm gives

/// Of one of a layer's norms over `size` numbers, with what the norm adds to the stored values;
/// empty where it has none.
Read<Gain> read_gain(const Model& model, const NormSpec& norm, std::int64_t layer,
                     std::int64_t size);

/// Of the norm that the layer's projections read; nothing where they read none with a gain.
Read<std::optional<Gain>> read_input_gain(const Model& model, std::int64_t layer);

}  // namespace attnscope
