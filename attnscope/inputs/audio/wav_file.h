// Audio files: WAV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// The sampling rate of all supported audio models, in samples per second.
inline constexpr int kSampleRate = 16'000;

/// Returns the samples of a WAV file, between -1 and 1. Requires one channel at kSampleRate, and
/// PCM of 8, 16, 24 or 32 bits, float32 or float64. Throws Error(format) for a truncated or invalid
/// file. Throws Error(unsupported) for other rates, channels and encodings, with a command that
/// converts the file. `where` names the file.
std::vector<float> read_wave(std::string_view bytes, const std::string& where);

}  // namespace attnscope
