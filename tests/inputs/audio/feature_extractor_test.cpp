// Audio preprocessing, compared with transformers' feature extractors. Expected values:
// tools/golden_audio.py.
#include "attnscope/inputs/audio/feature_extractor.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/inputs/audio/wav_file.h"
#include "attnscope/tensor/decode.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

const std::filesystem::path kAudio =
    std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/audio";

std::string wave_bytes(const std::string& name) {
  std::ostringstream out;
  out << std::ifstream(kAudio / (name + ".wav"), std::ios::binary).rdbuf();
  return out.str();
}

TEST(AudioPreparation, EqualsFeatureExtractorsOfTransformers) {
  for (const char* extractor : {"wav2vec2", "whisper"}) {
    const AudioPreparation preparation = read_audio_preparation(kAudio / extractor);
    const Checkpoint expected = Checkpoint::open(kAudio / extractor / "expected.safetensors");
    ASSERT_EQ(expected.tensors().size(), 3U);
    for (const CheckpointTensor& tensor : expected.tensors()) {
      SCOPED_TRACE(extractor + (", " + tensor.name));
      const MediaInput got = prepare_audio(read_wave(wave_bytes(tensor.name), "file"), preparation);
      std::vector<float> wanted(static_cast<std::size_t>(tensor.view.element_count()));
      decode_elements(tensor.view, 0, 1, std::ssize(wanted), wanted.data());
      const std::int64_t kept = tensor.view.shape.back(), all = got.shape.back();
      if (preparation.spectrogram) {
        EXPECT_EQ(got.shape, (std::vector<std::int64_t>{80, 3000}));
      }
      // Waves: float32 rounding of values up to 10. Spectrograms: transformers computes them in
      // float32. A weak band next to a strong one has a relative error of 1e-5.
      const double allowed = preparation.spectrogram ? 1e-4 : 5e-6;
      for (std::size_t at = 0; at < wanted.size(); ++at) {
        const auto place = static_cast<std::int64_t>(at);
        const auto index = static_cast<std::size_t>(place / kept * all + place % kept);
        ASSERT_NEAR(got.values[index], wanted[at], allowed) << "value " << at;
      }
    }
  }
}

TEST(AudioPreparation, RejectsOtherAudioFiles) {
  const std::string wave = wave_bytes("chirp");
  std::string fast = wave, stereo = wave, packed = wave, far = wave;
  fast[24] = '\x44', fast[25] = '\xac';  // 44100 samples per second
  stereo[22] = 2;
  packed[20] = 0x55;
  far[40] = '\xff', far[43] = '\x7f';
  const struct {
    std::string bytes;
    ErrorKind kind;
    const char* says;
  } cases[] = {
      {"", ErrorKind::format, "is empty"},
      {"RIFX....WAVE", ErrorKind::format, "is not a WAV file"},
      {wave.substr(0, 30), ErrorKind::format, "is truncated"},
      {wave.substr(0, wave.size() - 9), ErrorKind::format, "is truncated"},
      {wave.substr(0, 36), ErrorKind::format, "contains no samples"},
      {far, ErrorKind::format, "is truncated"},
      {fast, ErrorKind::unsupported, "44100 samples per second"},
      {stereo, ErrorKind::unsupported, "2 channels"},
      {packed, ErrorKind::unsupported, "neither PCM nor float"},
  };
  for (const auto& each : cases) {
    EXPECT_ERROR_SAYING(each.kind, read_wave(each.bytes, "file"), each.says);
  }
  const test::TempFolder folder;
  folder.write("preprocessor_config.json", R"({"feature_extractor_type": "ClapFeatureExtractor"})");
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, read_audio_preparation(folder.path()),
                      "ClapFeatureExtractor");
}

}  // namespace
}  // namespace attnscope
