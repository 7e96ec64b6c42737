// From sound to what enters layer 0.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/weights/tensor_reader.h"

namespace attnscope {

/// Throws as TensorReader does.
SoundWeights read_sound_weights(const TensorReader& reader, const SoundSpec& spec);

/// Rows that such sound becomes. Throws Error(usage) for sound that the model does not read.
std::int64_t rows_of_sound(const Model& model, const Signal& sound);

/// Of an image or sound, whichever the model reads. Throws likewise.
std::int64_t rows_of_signal(const Model& model, const Signal& signal);

/// Throws likewise.
PreparedStates embed_sound(const Model& model, const ForwardWeights& weights,
                           std::span<const Signal> sounds, const Compute& compute);

}  // namespace attnscope
