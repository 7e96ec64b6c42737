// `attention` on images for models with attention in windows. Expected values:
// tools/golden_images.py.
#include <cmath>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "tests/forward/golden_comparison.h"
#include "tests/support/golden_variants.h"
#include "tests/support/npy.h"
#include "tests/support/refusals.h"

namespace attnscope::test {
namespace {

std::vector<float> tensor_values(const Checkpoint& checkpoint, const std::string& name) {
  const CheckpointTensor* found = checkpoint.find(name);
  return found == nullptr ? std::vector<float>() : values_of(*found);
}

class CliWindows : public testing::Test {
 protected:
  static std::string stack_path(const std::string& name) { return data_path("stacks/" + name); }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string pixels_of(const Checkpoint& golden, const std::string& name) const {
    const CheckpointTensor* tensor = golden.find(name);
    EXPECT_NE(tensor, nullptr) << name;
    folder_.write("input.npy",
                  npy_bytes({.shape = tensor->view.shape, .values = values_of(*tensor)}));
    return path("input.npy");
  }

  TempFolder folder_;
};

TEST_F(CliWindows, MeasuresOfWindowsEqualNumPy) {
  for (const std::string model :
       {"swin", "swin-padded", "swinv2-padded", "donut-swin", "sam_vision_model"}) {
    SCOPED_TRACE(model);
    const auto golden = Checkpoint::open(stack_path(model) + "/images.safetensors");
    const json report = test::report_of(
        {"attention", stack_path(model), "--pixel-values", pixels_of(golden, "pixel_values.0")});
    std::size_t seen = 0;
    for (const json& row : report["rows"]) {
      if (row["head"].is_null()) continue;
      const std::string name = "windows.0." + std::to_string(row["layer"].get<int>());
      const std::vector<float> wanted = tensor_values(golden, name);
      const std::size_t head = row["head"].get<std::size_t>();
      std::size_t at = 4 * head;
      for (const char* field : {"entropy", "sink_mass", "current_token", "learned_sink_mass"}) {
        EXPECT_NEAR(row[field].get<double>(), static_cast<double>(wanted.at(at++)), 1e-4) << field;
      }
      ++seen;
    }
    EXPECT_GT(seen, 1U);
  }
}

/// A map of the whole image, whose weights between windows are 0.
TEST_F(CliWindows, SavedMapsOfWindowsCoverTheImage) {
  const auto golden = Checkpoint::open(stack_path("swin") + "/images.safetensors");
  const std::string pixels = pixels_of(golden, "pixel_values.0");
  test::report_of({"attention", stack_path("swin"), "--pixel-values", pixels, "--layers", "0,1",
                   "--maps", path("maps.safetensors")});
  const auto saved = Checkpoint::open(path("maps.safetensors"));
  const std::vector<float> maps = tensor_values(saved, "attentions");
  std::vector<float> wanted = tensor_values(golden, "attentions.0.0");
  for (const float value : tensor_values(golden, "attentions.0.1")) wanted.push_back(value);
  ASSERT_EQ(maps.size(), wanted.size());
  for (std::size_t at = 0; at < maps.size(); ++at) ASSERT_NEAR(maps[at], wanted[at], 5e-5);
  expect_refusal({"attention", stack_path("swin"), "--pixel-values", pixels, "--maps",
                  path("all.safetensors")},
                 kUsage, {"layers 0 and 2", "differ in size", "--layers"});
  expect_refusal(
      {"predict", stack_path("swin"), "--pixel-values", pixels, "--save", path("run.safetensors")},
      kUsage, {"has stages"});
}

/// The decoder of Donut reads the windows' output, projected to its own size.
TEST_F(CliWindows, ADecoderAttendsToTheImage) {
  const auto golden = Checkpoint::open(stack_path("donut") + "/target.safetensors");
  const Words input = {"--pixel-values", pixels_of(golden, "pixel_values"), "--target-tokens",
                       "1,5,9,2"};
  output_of(Words{"predict", stack_path("donut"), "--save", path("run.safetensors")} + input);
  const auto saved = Checkpoint::open(path("run.safetensors"));
  output_of(Words{"attention", stack_path("donut") + ":cross", "--maps", path("maps.safetensors")} +
            input);
  const auto measured = Checkpoint::open(path("maps.safetensors"));
  const auto expect_equal = [&](const Checkpoint& own, const char* name, const char* of_golden) {
    const std::vector<float> values = tensor_values(own, name);
    const std::vector<float> wanted = tensor_values(golden, of_golden);
    ASSERT_EQ(values.size(), wanted.size()) << name;
    for (std::size_t at = 0; at < values.size(); ++at) ASSERT_NEAR(values[at], wanted[at], 2e-5);
  };
  expect_equal(saved, "logits", "logits");
  expect_equal(saved, "cross_attentions", "cross_attentions");
  expect_equal(measured, "attentions", "cross_attentions");
}

/// The rows of a heat map are the patches of the whole image.
TEST_F(CliWindows, HeatmapsCoverTheImage) {
  const auto golden = Checkpoint::open(stack_path("swinv2") + "/images.safetensors");
  const json report = test::report_of({"attention", stack_path("swinv2"), "--pixel-values",
                                       pixels_of(golden, "pixel_values.0"), "--heatmap", "L2H1"});
  const std::vector<float> wanted = tensor_values(golden, "attentions.0.2");
  ASSERT_EQ(report["rows"].size(), 16U);
  for (std::size_t query = 0; query < 16; ++query) {
    for (std::size_t key = 0; key < 16; ++key) {
      EXPECT_NEAR(report["rows"][query]["weights"][key].get<double>(),
                  static_cast<double>(wanted.at((16 + query) * 16 + key)), 5e-5);
    }
  }
  expect_refusal(
      {"attention", stack_path("swinv2"), "--pixel-values", path("input.npy"), "--heatmap", "L0H1"},
      kUsage, {"heads"});
}

}  // namespace
}  // namespace attnscope::test
