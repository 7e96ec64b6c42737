// Depth pruning: removes layers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/features/plan/methods/method.h"

namespace attnscope {

Method depth_method();

/// 0, 1, 2, …
std::vector<std::int64_t> all_layers(const Model& model);

/// The model with only these layers, renumbered.
ChangedModel with_layers(const Model& model, const std::vector<std::int64_t>& kept,
                         std::optional<DType> dtype = std::nullopt);

/// The layers that the choice removes from a model with `layers` layers.
std::vector<std::int64_t> removed_layers(const Choice& choice, std::int64_t layers);

}  // namespace attnscope
