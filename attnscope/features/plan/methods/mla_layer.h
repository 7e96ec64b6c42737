// One layer's keys and values in a latent: what with_latent() puts into files.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/methods/rotary_dimensions.h"

namespace attnscope {

/// What every layer is made of.
struct LatentShape {
  HeadShape heads;
  std::int64_t width = 0;    // D
  std::int64_t rotary = 0;   // R
  std::int64_t rank = 0;     // r, without the constant
  std::int64_t content = 0;  // of keys without positions: 0, or the head's width
  std::vector<RotarySlot> slots;
};

struct LayerKeys {
  Matrix<double> query, key, moments;
  RotaryKeys rotary;
};

/// With biases as one more column.
LayerKeys keys_of(const Model& model, std::int64_t layer, const TextStatistics& text,
                  const Compute& compute);

/// Components of frequencies with the largest energies, each layer's taken as shares. `partial`:
/// weighted by what it costs to forget their rotation.
std::vector<RotarySlot> chosen_slots(const Model& model, std::int64_t count, bool partial,
                                     const TextStatistics& text, const Compute& compute);

/// The latent, (r, D + 1), with E‖z‖² = 1, and what makes keys and values of it.
struct Latent {
  Matrix<double> down;
  std::vector<Matrix<double>> keys, values;  // of each key/value head, (size, r)
};

Latent make_latent(const Model& model, std::int64_t layer, const LayerKeys& keys,
                   const LatentShape& shape, const Compute& compute);

}  // namespace attnscope
