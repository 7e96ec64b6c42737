// MLA conversion of one layer: queries, keys and values through a latent.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/features/plan/methods/method.h"
#include "attnscope/features/plan/methods/rotary_dimensions.h"

namespace attnscope {

/// Dimensions that all layers share.
struct MlaShape {
  HeadShape heads;
  std::int64_t width = 0;    // D
  std::int64_t rotary = 0;   // R
  std::int64_t rank = 0;     // r, without the constant
  std::int64_t content = 0;  // non-rotary key dimensions: 0, or the head dimension
  std::vector<RotarySlot> slots;
};

/// The components per frequency with the largest energies, normalized per layer. `partial`:
/// weighted by the error from ignoring their rotation.
std::vector<RotarySlot> chosen_slots(const Model& model, std::int64_t count, bool partial,
                                     const TextStatistics& text, const Compute& compute);

/// Adds the attention tensors of the layer under the names of DeepSeek-V3.
void put_latent_layer(ChangedModel& changed, std::int64_t layer, const MlaShape& shape,
                      const TextStatistics& text, const Compute& compute);

}  // namespace attnscope
