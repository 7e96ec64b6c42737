// Audio embedding: from audio to the input of layer 0.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/weights/tensor_reader.h"

namespace attnscope {

/// Throws like TensorReader.
AudioWeights read_audio_weights(const TensorReader& reader, const AudioSpec& spec);

/// Returns the number of rows that the audio produces. Throws Error(usage) for audio that does not
/// fit the model.
std::int64_t rows_of_audio(const Model& model, const MediaInput& audio);

/// Returns the number of rows for an image or audio, depending on the model. Throws Error(usage)
/// for input that does not fit the model.
std::int64_t rows_of_media(const Model& model, const MediaInput& media_input);

/// Returns the input of layer 0 for several audio inputs. Throws like rows_of_audio().
PreparedStates embed_audio(const Model& model, const ForwardWeights& weights,
                           std::span<const MediaInput> audio_inputs, const Compute& compute);

}  // namespace attnscope
