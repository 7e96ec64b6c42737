#include "attnscope/inputs/audio/wav_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "attnscope/base/error.h"

namespace attnscope {
namespace {

[[noreturn]] void refuse_wave(const std::string& where, const std::string& problem) {
  throw Error(ErrorKind::format,
              {.file = where,
               .problem = problem,
               .hint = "convert the audio: ffmpeg -i AUDIO -ac 1 -ar 16000 audio.wav"});
}

[[noreturn]] void refuse_kind(const std::string& where, const std::string& problem) {
  throw Error(ErrorKind::unsupported,
              {.file = where,
               .problem = problem,
               .hint = "convert it: ffmpeg -i AUDIO -ac 1 -ar 16000 audio.wav"});
}

std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t byte = size; byte-- > 0;) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[at + byte]);
  }
  return value;
}

struct WaveFormat {
  std::uint32_t encoding = 0, channels = 0, rate = 0, bits = 0;
};

WaveFormat format_of(std::string_view chunk, const std::string& where) {
  constexpr std::uint32_t kExtensible = 0xfffe;
  if (chunk.size() < 16) refuse_wave(where, "its WAV header is truncated");
  WaveFormat format{.encoding = number_at(chunk, 0, 2),
                    .channels = number_at(chunk, 2, 2),
                    .rate = number_at(chunk, 4, 4),
                    .bits = number_at(chunk, 14, 2)};
  if (format.encoding == kExtensible && chunk.size() >= 26) {
    format.encoding = number_at(chunk, 24, 2);
  }
  return format;
}

template <class T>
float as_float(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return static_cast<float>(value);
}

/// Scales PCM like soundfile: divides by 2^(bits − 1).
float sample_at(const char* at, const WaveFormat& format) {
  if (format.encoding == 3) return format.bits == 32 ? as_float<float>(at) : as_float<double>(at);
  std::uint32_t raw = 0;
  std::memcpy(&raw, at, format.bits / 8);
  if (format.bits == 8) return (static_cast<float>(raw) - 128) / 128;
  raw <<= 32 - format.bits;  // the sign bit is the highest
  return static_cast<float>(static_cast<double>(static_cast<std::int32_t>(raw)) / 2147483648.0);
}

}  // namespace

std::vector<float> read_wave(std::string_view bytes, const std::string& where) {
  if (bytes.size() < 12 || !bytes.starts_with("RIFF") || bytes.substr(8, 4) != "WAVE") {
    refuse_wave(where, bytes.empty() ? "is empty" : "is not a WAV file");
  }
  bytes.remove_prefix(12);
  std::optional<WaveFormat> format;
  while (bytes.size() >= 8) {
    const std::string_view name = bytes.substr(0, 4);
    const std::size_t size = number_at(bytes, 4, 4);
    bytes.remove_prefix(8);
    if (size > bytes.size()) refuse_wave(where, "is truncated");
    const std::string_view chunk = bytes.substr(0, size);
    bytes.remove_prefix(std::min(bytes.size(), size + size % 2));
    if (name == "fmt ") format = format_of(chunk, where);
    if (name != "data") continue;
    if (!format) refuse_wave(where, "has no format before its samples");
    const bool pcm = format->encoding == 1 && (format->bits == 8 || format->bits == 16 ||
                                               format->bits == 24 || format->bits == 32);
    const bool real = format->encoding == 3 && (format->bits == 32 || format->bits == 64);
    if (!pcm && !real) refuse_kind(where, "is neither PCM nor float");
    if (format->channels != 1) {
      refuse_kind(where, "has " + std::to_string(format->channels) + " channels, expected one");
    }
    if (format->rate != kSampleRate) {
      refuse_kind(where, "has " + std::to_string(format->rate) + " samples per second, expected " +
                             std::to_string(kSampleRate));
    }
    const std::size_t each = format->bits / 8;
    if (size < each || size % each != 0) refuse_wave(where, "does not contain whole samples");
    std::vector<float> samples(size / each);
    for (std::size_t at = 0; at < samples.size(); ++at) {
      samples[at] = sample_at(chunk.data() + at * each, *format);
    }
    return samples;
  }
  refuse_wave(where, "contains no samples");
}

}  // namespace attnscope
