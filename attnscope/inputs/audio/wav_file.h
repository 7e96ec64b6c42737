// Sound files: WAV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// The rate that every model of speech here reads, in samples a second.
inline constexpr int kSampleRate = 16'000;

/// Samples between -1 and 1 of a WAV file with one channel at kSampleRate: PCM of 8, 16, 24 or 32
/// bits, float32 or float64. Throws Error(format) for what is cut or none, Error(unsupported) for
/// other rates, channels and encodings, with what to do. `where` names the file.
std::vector<float> read_wave(std::string_view bytes, const std::string& where);

}  // namespace attnscope
