#include "attnscope/inputs/audio/feature_extractor.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/inputs/audio/wav_file.h"

namespace attnscope {
namespace {

using AudioConfig = nlohmann::json;

std::int64_t whole_number(const AudioConfig& config, const char* key, std::int64_t usual,
                          std::int64_t most, const std::string& file) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return usual;
  const std::int64_t value = found->is_number_integer() ? found->get<std::int64_t>() : 0;
  if (value >= 1 && value <= most) return value;
  throw Error(ErrorKind::format,
              {.file = file,
               .problem = "'" + std::string(key) + "' is not from 1 to " + std::to_string(most)});
}

AudioPreparation audio_preparation_of(const AudioConfig& config, const std::string& file) {
  const auto unknown = [&](const std::string& problem) {
    throw Error(ErrorKind::unsupported, {.file = file,
                                         .problem = problem + " is not known",
                                         .hint = "pass prepared features with {features}"});
  };
  const auto named = config.find("feature_extractor_type");
  const std::string type =
      named != config.end() && named->is_string() ? named->get<std::string>() : "";
  if (whole_number(config, "sampling_rate", kSampleRate, 1'000'000, file) != kSampleRate) {
    unknown("a sampling rate other than 16000");
  }
  AudioPreparation out;
  if (type == "Wav2Vec2FeatureExtractor") {
    const auto normalizes = config.find("do_normalize");
    out.normalizes =
        normalizes == config.end() || !normalizes->is_boolean() || normalizes->get<bool>();
    return out;
  }
  if (type != "WhisperFeatureExtractor") {
    unknown("the feature extractor '" + printable(type) + "'");
  }
  out.spectrogram = true;
  out.features = whole_number(config, "feature_size", 80, 1000, file);
  out.seconds = whole_number(config, "chunk_length", 30, 600, file);
  out.window = whole_number(config, "n_fft", 400, 4096, file);
  out.hop = whole_number(config, "hop_length", 160, 4096, file);
  return out;
}

double mel_of(double hertz) {
  return hertz < 1000 ? 3 * hertz / 200 : 15 + std::log(hertz / 1000) * 27 / std::log(6.4);
}

double hertz_of(double mel) {
  return mel < 15 ? 200 * mel / 3 : 1000 * std::exp(std::log(6.4) / 27 * (mel - 15));
}

/// Pads the audio before its first sample and after its last with mirrored samples.
float mirrored(std::span<const float> samples, std::int64_t at) {
  const auto last = std::ssize(samples) - 1;
  if (last == 0) return samples[0];
  at = std::abs(at) % (2 * last);
  return samples[static_cast<std::size_t>(at > last ? 2 * last - at : at)];
}

/// Returns the squared magnitudes of frequencies 0 to window / 2 of each frame, (frames,
/// frequencies). Source: transformers, WhisperFeatureExtractor; torch.stft().
std::vector<double> powers_of(std::span<const float> samples, const AudioPreparation& how,
                              std::int64_t frames) {
  const std::int64_t window = how.window, frequencies = window / 2 + 1;
  const auto size = static_cast<std::size_t>(window);
  std::vector<double> hann(size), cosines(size), sines(size), part(size);
  for (std::size_t at = 0; at < size; ++at) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(at) / static_cast<double>(size);
    hann[at] = 0.5 - 0.5 * std::cos(angle);
    cosines[at] = std::cos(angle);
    sines[at] = std::sin(angle);
  }
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(frames * frequencies));
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    bool silent = true;
    for (std::int64_t at = 0; at < window; ++at) {
      const auto index = static_cast<std::size_t>(at);
      part[index] =
          hann[index] * static_cast<double>(mirrored(samples, frame * how.hop + at - window / 2));
      silent = silent && part[index] == 0;
    }
    for (std::int64_t frequency = 0; frequency < frequencies; ++frequency) {
      double real = 0, imaginary = 0;
      const auto step = static_cast<std::size_t>(frequency);
      std::size_t turn = 0;  // frequency times sample index, in fractions of a turn
      for (std::size_t at = 0; at < size && !silent; ++at) {
        real += part[at] * cosines[turn];
        imaginary -= part[at] * sines[turn];
        turn += step;
        if (turn >= size) turn -= size;
      }
      out.push_back(real * real + imaginary * imaginary);
    }
  }
  return out;
}

MediaInput log_mel(std::span<const float> given, const AudioPreparation& how) {
  const std::int64_t wanted = how.seconds * kSampleRate, frames = wanted / how.hop;
  std::vector<float> samples(given.begin(),
                             given.begin() + std::min<std::int64_t>(std::ssize(given), wanted));
  samples.resize(static_cast<std::size_t>(wanted));
  const std::vector<double> powers = powers_of(samples, how, frames);
  const std::vector<double> filters = mel_filters(how.features, how.window);
  const std::int64_t frequencies = how.window / 2 + 1;
  std::vector<double> logs;
  logs.reserve(static_cast<std::size_t>(how.features * frames));
  for (std::int64_t feature = 0; feature < how.features; ++feature) {
    const double* filter = filters.data() + feature * frequencies;
    for (std::int64_t frame = 0; frame < frames; ++frame) {
      double sum = 0;
      const double* power = powers.data() + frame * frequencies;
      for (std::int64_t at = 0; at < frequencies; ++at) sum += filter[at] * power[at];
      logs.push_back(std::log10(std::max(sum, 1e-10)));
    }
  }
  const double least = *std::max_element(logs.begin(), logs.end()) - 8;
  MediaInput out{.shape = {how.features, frames}, .values = {}};
  for (const double value : logs) {
    out.values.push_back(static_cast<float>((std::max(value, least) + 4) / 4));
  }
  return out;
}

}  // namespace

std::vector<double> mel_filters(std::int64_t features, std::int64_t window) {
  const std::int64_t frequencies = window / 2 + 1;
  const double highest = kSampleRate / 2.0, most = mel_of(highest);
  const auto corner = [&](std::int64_t at) {
    return hertz_of(most * static_cast<double>(at) / static_cast<double>(features + 1));
  };
  std::vector<double> out;
  for (std::int64_t feature = 0; feature < features; ++feature) {
    const double low = corner(feature), middle = corner(feature + 1), high = corner(feature + 2);
    for (std::int64_t at = 0; at < frequencies; ++at) {
      const double hertz = highest * static_cast<double>(at) / static_cast<double>(frequencies - 1);
      const double height =
          std::min((hertz - low) / (middle - low), (high - hertz) / (high - middle));
      out.push_back(std::max(0.0, height) * 2 / (high - low));
    }
  }
  return out;
}

AudioPreparation read_audio_preparation(const CheckpointFolder& folder) {
  constexpr std::uint64_t kLimitBytes = 5'000'000;  // older files contain all filters
  for (const char* name : {"preprocessor_config.json", "processor_config.json"}) {
    if (!folder.has(name)) continue;
    const std::string file = folder.place_of(name);
    const AudioConfig whole = parse_python_json(folder.read_text(name, kLimitBytes), file);
    const AudioConfig* object = &whole;
    if (whole.is_object() && whole.contains("feature_extractor")) {
      object = &whole["feature_extractor"];
    }
    if (!object->is_object()) {
      throw Error(ErrorKind::format, {.file = file, .problem = "is not a JSON object"});
    }
    return audio_preparation_of(*object, file);
  }
  throw Error(
      ErrorKind::usage,
      {.file = folder.path().string(),
       .problem = "contains no preprocessor_config.json, which specifies how audio is prepared",
       .hint = "pass prepared features with {features}"});
}

MediaInput prepare_audio(std::span<const float> samples, const AudioPreparation& preparation) {
  if (preparation.spectrogram) return log_mel(samples, preparation);
  MediaInput out{.shape = {std::ssize(samples)}, .values = {samples.begin(), samples.end()}};
  if (!preparation.normalizes) return out;
  double sum = 0, squares = 0;
  for (const float sample : samples) sum += static_cast<double>(sample);
  const auto count = static_cast<double>(samples.size());
  for (const float sample : samples) {
    const double off = static_cast<double>(sample) - sum / count;
    squares += off * off;
  }
  const double scale = 1 / std::sqrt(squares / count + 1e-7);
  for (float& value : out.values) {
    value = static_cast<float>((static_cast<double>(value) - sum / count) * scale);
  }
  return out;
}

}  // namespace attnscope
