// From samples to the numbers that a model of speech reads, as its preprocessor_config.json says.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/checkpoint/checkpoint_folder.h"

namespace attnscope {

/// What transformers' feature extractors do.
struct AudioPreparation {
  bool spectrogram = false;                  // Whisper's; else the wave itself
  bool normalizes = false;                   // of waves: to mean 0 and variance 1
  std::int64_t features = 80, seconds = 30;  // of spectrograms; longer sound is cut
  std::int64_t window = 400, hop = 160;      // samples
};

/// As read_image_preparation().
AudioPreparation read_audio_preparation(const CheckpointFolder& folder);

/// (samples), or (features, frames). At least one sample.
MediaInput prepare_audio(std::span<const float> samples, const AudioPreparation& preparation);

/// Triangles over the frequencies of `window` samples, (features, window / 2 + 1), row by row, each
/// of unit area in Hertz. Source: Slaney 1998, Auditory Toolbox; transformers, mel_filter_bank().
std::vector<double> mel_filters(std::int64_t features, std::int64_t window);

}  // namespace attnscope
