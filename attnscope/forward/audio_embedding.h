// From sound to what enters layer 0.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/weights/tensor_reader.h"

namespace attnscope {

/// Throws as TensorReader does.
AudioWeights read_audio_weights(const TensorReader& reader, const AudioSpec& spec);

/// Rows that such sound becomes. Throws Error(usage) for sound that the model does not read.
std::int64_t rows_of_audio(const Model& model, const MediaInput& audio);

/// Of an image or sound, whichever the model reads. Throws likewise.
std::int64_t rows_of_media(const Model& model, const MediaInput& media_input);

/// Throws likewise.
PreparedStates embed_audio(const Model& model, const ForwardWeights& weights,
                           std::span<const MediaInput> audio_inputs, const Compute& compute);

}  // namespace attnscope
