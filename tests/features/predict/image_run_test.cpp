// Zero-shot image classification: scores of CLIP and SigLIP, compared with transformers. Expected
// values: tools/golden_images.py.
#include "attnscope/features/predict/image_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "attnscope/rows/sink.h"
#include "tests/forward/golden_comparison.h"
#include "tests/support/golden_variants.h"
#include "tests/support/program.h"

namespace attnscope {
namespace {

using namespace test;

TEST(ImagePrediction, ScoresEqualTransformers) {
  for (const std::string name : {"clip", "siglip-compared"}) {
    const auto folder = std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/stacks" / name;
    const Checkpoint golden = Checkpoint::open(folder / "images.safetensors");
    const std::vector<Model> towers =
        Model::open_stacks(Checkpoint::open(folder), std::nullopt, "model");
    const CheckpointTensor& scores = *golden.find("scores");
    const std::vector<float> wanted = values_of(scores);
    const auto texts = static_cast<std::size_t>(scores.view.shape[1]);
    for (std::int64_t image = 0; image < scores.view.shape[0]; ++image) {
      SCOPED_TRACE(name + " " + std::to_string(image));
      const CheckpointTensor& pixels = *golden.find("pixel_values." + std::to_string(image));
      ImageQuestion question{.image = {.shape = pixels.view.shape, .values = values_of(pixels)},
                             .texts = &towers[0],
                             .captions = {}};
      for (std::size_t text = 0; text < texts; ++text) {
        const std::vector<float> ids = values_of(*golden.find("tokens." + std::to_string(text)));
        question.captions.push_back({.text = "text", .tokens = TokenIds(ids.begin(), ids.end())});
      }
      ReportCollector rows;
      run_image_prediction(std::span(&towers[1], 1), {.questions = {question}, .source = "image"},
                           {}, rows);
      ASSERT_EQ(rows.report().rows.size(), texts);
      const float* of_image = wanted.data() + static_cast<std::size_t>(image) * texts;
      double sum = 0, last = INFINITY;
      for (std::size_t text = 0; text < texts; ++text) {
        sum += std::exp(static_cast<double>(of_image[text]));
      }
      for (const Record& row : rows.report().rows) {
        const auto id = static_cast<std::size_t>(expect<std::int64_t>(row, "label_id"));
        const auto score = static_cast<double>(of_image[id]);
        const auto logit = expect<double>(row, "logit");
        // Errors of both towers, relative to scores, which are dot products of unit vectors times a
        // scale.
        EXPECT_NEAR(logit, score, 1e-4 * (1 + std::abs(score)));
        EXPECT_LE(logit, last);
        last = logit;
        const double probability =
            name == "clip" ? std::exp(score) / sum : 1 / (1 + std::exp(-score));
        EXPECT_NEAR(expect<double>(row, "probability"), probability, 1e-4);
      }
    }
  }
}

TEST(PredictImage, RefusesOptionsOfTexts) {
  for (const Words& option : {Words{"--text-pair", "a"}, Words{"--token-types", "0,1"}}) {
    expect_refusal(Words{"predict", data_path("stacks/vit"), "--image", "x.png"} + option, 2,
                   {"--image", option.front()});
  }
}

}  // namespace
}  // namespace attnscope
