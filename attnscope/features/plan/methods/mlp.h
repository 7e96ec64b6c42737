// MLP pruning: removes neurons and refits W_down to the kept ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/features/plan/methods/method.h"

namespace attnscope {

/// The number of MLPs that the method changes: those of the model, then those of
/// stack_of_same_width().
std::int64_t mlp_count(const Model& model);

/// The neurons to remove per MLP, in removal order (neuron_removal.h).
std::vector<std::vector<std::int64_t>> removed_neurons(const Model& model, std::int64_t count,
                                                       const TextStatistics& text,
                                                       const Compute& compute);

}  // namespace attnscope
