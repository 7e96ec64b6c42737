// Converts samples to the inputs of an audio model, as specified in its preprocessor_config.json.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/checkpoint/checkpoint_folder.h"

namespace attnscope {

/// The steps of transformers' feature extractors.
struct AudioPreparation {
  bool spectrogram = false;                  // Whisper's spectrograms; false: the waveform itself
  bool normalizes = false;                   // for waveforms: to mean 0 and variance 1
  std::int64_t features = 80, seconds = 30;  // for spectrograms; longer audio is cut
  std::int64_t window = 400, hop = 160;      // samples
};

/// Reads the settings like read_image_preparation().
AudioPreparation read_audio_preparation(const CheckpointFolder& folder);

/// Returns (samples), or (features, frames). Requires at least one sample.
MediaInput prepare_audio(std::span<const float> samples, const AudioPreparation& preparation);

/// Returns triangular filters over the frequencies of `window` samples, (features, window / 2 + 1),
/// row-major, each of unit area in Hertz. Source: Slaney 1998, Auditory Toolbox; transformers,
/// mel_filter_bank().
std::vector<double> mel_filters(std::int64_t features, std::int64_t window);

}  // namespace attnscope
