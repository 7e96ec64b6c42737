// One layer of mla: its queries, keys and values through a latent.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/features/plan/methods/method.h"
#include "attnscope/features/plan/methods/rotary_dimensions.h"

namespace attnscope {

/// What every layer has.
struct MlaShape {
  HeadShape heads;
  std::int64_t width = 0;    // D
  std::int64_t rotary = 0;   // R
  std::int64_t rank = 0;     // r, without the constant
  std::int64_t content = 0;  // of keys without positions: 0, or the head dimension
  std::vector<RotarySlot> slots;
};

/// Components of frequencies with the largest energies, each layer's taken as shares. `partial`:
/// weighted by what it costs to forget their rotation.
std::vector<RotarySlot> chosen_slots(const Model& model, std::int64_t count, bool partial,
                                     const TextStatistics& text, const Compute& compute);

/// Puts the layer's tensors under the names of DeepSeek-V3's attention, and no others.
void put_latent_layer(ChangedModel& changed, std::int64_t layer, const MlaShape& shape,
                      const TextStatistics& text, const Compute& compute);

}  // namespace attnscope
