// Audio encoders, compared with transformers. Expected values: tools/golden_audio.py.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/tensor/decode.h"
#include "tests/support/expect_error.h"

namespace attnscope {
namespace {

const std::filesystem::path kAudioStacks =
    std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/stacks";

std::vector<float> audio_values(const CheckpointTensor& tensor) {
  std::vector<float> out(static_cast<std::size_t>(tensor.view.element_count()));
  decode_elements(tensor.view, 0, 1, std::ssize(out), out.data());
  return out;
}

class AudioGolden : public testing::TestWithParam<std::string> {};

/// Relative to the largest value of a layer, as in golden_test.cpp.
void expect_near(const std::vector<float>& got, const CheckpointTensor* wanted, double tolerance) {
  if (wanted == nullptr) return;
  const std::vector<float> values = audio_values(*wanted);
  ASSERT_EQ(got.size(), values.size()) << wanted->name;
  const auto& shape = wanted->view.shape;
  const std::size_t parts = shape.size() > 2 ? static_cast<std::size_t>(shape[0]) : 1;
  const std::size_t size = values.size() / parts;
  for (std::size_t first = 0; first < values.size(); first += size) {
    double largest = 0, difference = 0;
    for (std::size_t at = first; at < first + size; ++at) {
      largest = std::max(largest, std::abs(static_cast<double>(values[at])));
      const double off = std::abs(static_cast<double>(got[at]) - static_cast<double>(values[at]));
      if (!(off <= difference)) difference = off;
    }
    EXPECT_LE(difference / largest, tolerance) << wanted->name << ", from " << first;
  }
}

TEST_P(AudioGolden, EqualsTransformers) {
  const std::filesystem::path folder = kAudioStacks / GetParam();
  const Checkpoint expected = Checkpoint::open(folder / "audio.safetensors");
  const std::vector<Model> stacks = Model::open_stacks(Checkpoint::open(folder), {}, "model");
  const ForwardPass pass(stacks.front(), /*copy_weights=*/false, {});
  ASSERT_TRUE(pass.reads_audio());
  const auto append = [](std::vector<float>& out, MatrixView<const float> rows) {
    for (std::int64_t row = 0; row < rows.rows; ++row) {
      out.insert(out.end(), &rows(row, 0), &rows(row, 0) + rows.cols);
    }
  };
  for (int at = 0; at < 2; ++at) {
    const std::string end = "." + std::to_string(at);
    const CheckpointTensor& input = *expected.find("input_values" + end);
    const MediaInput audio{.shape = input.view.shape, .values = audio_values(input)};
    std::vector<float> states, maps, last, logits;
    const ForwardObserver observer{
        .on_hidden_states = [&](std::int64_t,
                                MatrixView<const float> rows) { append(states, rows); },
        .on_maps =
            [&](const LayerMaps& layer) {
              for (const auto& map : layer.maps) append(maps, map);
            }};
    const Matrix<float> given = pass.run(std::span(&audio, 1), observer, {});
    EXPECT_EQ(given.rows(), pass.length_of(audio));
    append(last, given.view());
    expect_near(states, expected.find("hidden_states" + end), 2e-5);
    expect_near(maps, expected.find("attentions" + end), 5e-5);
    expect_near(last, expected.find("last" + end), 2e-5);
    if (expected.find("logits" + end) == nullptr) continue;
    ASSERT_TRUE(pass.no_logits().empty());
    append(logits, pass.logits(given.view(), {}).view());
    expect_near(logits, expected.find("logits" + end), 2e-5);
  }
  MediaInput broken{.shape = expected.find("input_values.0")->view.shape,
                    .values = audio_values(*expected.find("input_values.0"))};
  broken.values[3] = NAN;
  EXPECT_ERROR_SAYING(ErrorKind::usage, pass.length_of(broken), "value 3", "NaN");
  const MediaInput none{.shape = {1}, .values = {0}};
  EXPECT_ERROR_SAYING(ErrorKind::usage, pass.length_of(none), "model");
}

INSTANTIATE_TEST_SUITE_P(Cases, AudioGolden,
                         testing::Values("wav2vec2", "wav2vec2-stable", "hubert", "whisper",
                                         "wavlm", "wavlm-stable", "wav2vec2-bert",
                                         "wav2vec2-bert-plain"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& letter : name) letter = letter == '-' ? '_' : letter;
                           return name;
                         });

}  // namespace
}  // namespace attnscope
