// Depth pruning: layers removed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/features/plan/methods/method.h"

namespace attnscope {

Method depth_method();

/// 0, 1, 2, …
std::vector<std::int64_t> all_layers(const Model& model);

/// The model of these layers alone, renumbered.
ChangedModel with_layers(const Model& model, const std::vector<std::int64_t>& kept,
                         std::optional<DType> dtype = std::nullopt);

/// Which of so many layers the choice removes.
std::vector<std::int64_t> removed_layers(const Choice& choice, std::int64_t layers);

}  // namespace attnscope
