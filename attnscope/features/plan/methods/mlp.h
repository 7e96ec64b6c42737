// MLP pruning: neurons removed; W_down is refit to those that stay.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/features/plan/methods/method.h"

namespace attnscope {

/// MLPs that the method changes: the model's, and after them those of stack_of_same_width().
std::int64_t mlp_count(const Model& model);

/// Of each of these MLPs the neurons to remove, the first to go first (neuron_removal.h).
std::vector<std::vector<std::int64_t>> removed_neurons(const Model& model, std::int64_t count,
                                                       const TextStatistics& text,
                                                       const Compute& compute);

}  // namespace attnscope
