// Vision encoders and the text towers next to them, compared with transformers. Expected values:
// tools/golden_images.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/tensor/decode.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

const fs::path kStacks = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/stacks";

/// Relative to the largest value of a layer, as in golden_test.cpp.
constexpr double kStates = 2e-5, kMaps = 5e-5;

std::vector<fs::path> image_cases() {
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(kStacks)) {
    if (fs::exists(entry.path() / "images.safetensors")) cases.push_back(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

std::vector<float> values(const CheckpointTensor& tensor) {
  std::vector<float> out(static_cast<std::size_t>(tensor.view.element_count()));
  decode_elements(tensor.view, 0, 1, std::ssize(out), out.data());
  return out;
}

double largest_difference(const std::vector<float>& got, const std::vector<float>& wanted,
                          std::size_t parts) {
  if (got.size() != wanted.size()) return INFINITY;
  const std::size_t size = wanted.size() / parts;
  double worst = 0;
  for (std::size_t first = 0; first < wanted.size(); first += size) {
    double largest = 0, difference = 0;
    for (std::size_t at = first; at < first + size; ++at) {
      largest = std::max(largest, std::abs(static_cast<double>(wanted[at])));
      const double off = std::abs(static_cast<double>(got[at]) - static_cast<double>(wanted[at]));
      if (!(off <= difference)) difference = off;
    }
    if (!(difference / largest <= worst)) worst = difference / largest;
  }
  return worst;
}

struct Seen {
  std::vector<float> states, maps, last;
  std::vector<std::vector<float>> states_of, maps_of;  // by layer
};

void append(std::vector<float>& out, MatrixView<const float> rows) {
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    out.insert(out.end(), &rows(row, 0), &rows(row, 0) + rows.cols);
  }
}

template <class Input>
Seen seen_by(const ForwardPass& pass, const Input& input, Matrix<float>& last) {
  Seen seen;
  const ForwardObserver observer{
      .on_hidden_states =
          [&](std::int64_t, MatrixView<const float> states) {
            append(seen.states, states);
            append(seen.states_of.emplace_back(), states);
          },
      .on_maps =
          [&](const LayerMaps& layer) {
            std::vector<float>& maps = seen.maps_of.emplace_back();
            for (std::int64_t head = 0; head < layer.heads; ++head) {
              if (layer.windows.empty()) {
                append(maps, layer.map(0, head));
              } else {
                append(maps, std::as_const(layer).map_of_image(0, head).view());
              }
            }
            seen.maps.insert(seen.maps.end(), maps.begin(), maps.end());
          }};
  last = pass.run(std::span(&input, 1), observer, {});
  append(seen.last, last.view());
  return seen;
}

class ImageGolden : public testing::TestWithParam<fs::path> {
 protected:
  void compare(const std::string& name, const std::vector<float>& got, double tolerance) const {
    const CheckpointTensor* wanted = expected.find(name);
    if (wanted == nullptr) return;
    const auto& shape = wanted->view.shape;
    const std::size_t parts = shape.size() > 2 ? static_cast<std::size_t>(shape[0]) : 1;
    EXPECT_LE(largest_difference(got, values(*wanted), parts), tolerance) << name;
  }

  /// Values that differ in size between layers.
  void compare_layers(const std::string& name, const std::vector<std::vector<float>>& got,
                      double tolerance) const {
    if (expected.find(name + ".0") == nullptr) return;
    EXPECT_EQ(expected.find(name + "." + std::to_string(got.size())), nullptr);
    for (std::size_t layer = 0; layer < got.size(); ++layer) {
      const std::string own = name + "." + std::to_string(layer);
      ASSERT_NE(expected.find(own), nullptr);
      compare(own, got[layer], tolerance);
    }
  }

  const Checkpoint expected = Checkpoint::open(GetParam() / "images.safetensors");
  const std::vector<Model> stacks = Model::open_stacks(Checkpoint::open(GetParam()), {}, "model");
};

TEST_P(ImageGolden, EqualsTransformers) {
  const Model& model = stacks.back();
  if (!model.spec().stream.patches) return;
  for (const bool copy_weights : {true, false}) {
    const ForwardPass pass(model, copy_weights, {});
    ASSERT_TRUE(pass.reads_images());
    std::int64_t at = 0;
    for (; expected.find("pixel_values." + std::to_string(at)) != nullptr; ++at) {
      const std::string end = "." + std::to_string(at);
      const CheckpointTensor& pixels = *expected.find("pixel_values" + end);
      const MediaInput image{.shape = pixels.view.shape, .values = values(pixels)};
      Matrix<float> last;
      const Seen seen = seen_by(pass, image, last);
      const bool merges = model.spec().architecture.stages.has_value();
      if (!merges) EXPECT_EQ(last.rows(), pass.grid_of(image).length());
      compare("hidden_states" + end, seen.states, kStates);
      compare("attentions" + end, seen.maps, kMaps);
      compare_layers("hidden_states" + end, seen.states_of, kStates);
      compare_layers("attentions" + end, seen.maps_of, kMaps);
      compare("last" + end, seen.last, kStates);
      if (expected.find("pooled" + end) == nullptr) {
        EXPECT_EQ(pass.pooled_width(), 0);
        continue;
      }
      ASSERT_GT(pass.pooled_width(), 0);
      compare("pooled" + end, pass.pooled(last.view(), {}, {}), kStates);
    }
    EXPECT_GE(at, 2);
  }
}

/// The text towers of zero-shot image classification models.
TEST_P(ImageGolden, TextTowersEqualTransformers) {
  if (stacks.front().spec().stream.patches) return;
  const ForwardPass pass(stacks.front(), true, {});
  for (std::int64_t at = 0; at < 3; ++at) {
    const std::string end = "." + std::to_string(at);
    std::vector<float> ids = values(*expected.find("tokens" + end));
    const TokenIds tokens(ids.begin(), ids.end());
    Matrix<float> last;
    compare("text_states" + end, seen_by(pass, tokens, last).states, kStates);
    if (expected.find("text_pooled" + end) == nullptr) {
      EXPECT_EQ(pass.pooled_width(), 0);
      continue;
    }
    ASSERT_GT(pass.pooled_width(), 0);
    compare("text_pooled" + end, pass.pooled(last.view(), tokens, {}), kStates);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ImageGolden, testing::ValuesIn(image_cases()),
                         [](const auto& info) {
                           std::string name = info.param.filename().string();
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace attnscope
