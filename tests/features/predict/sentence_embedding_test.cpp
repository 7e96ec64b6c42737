#include "attnscope/features/predict/sentence_embedding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/tensor/decode.h"
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;
using enum SentencePooling;

TEST(SentenceEmbedding, PoolsEachColumn) {
  const std::vector<float> values = {1, -2, 4, 0, 1, 5};  // 3 tokens, width 2
  const MatrixView<const float> states{values.data(), 3, 2, 2};
  const auto pooled = [&](SentencePooling pooling) {
    return sentence_embedding({.poolings = {pooling}}, states);
  };
  using Pair = std::vector<float>;
  EXPECT_EQ(pooled(first), (Pair{1, -2}));
  EXPECT_EQ(pooled(max), (Pair{4, 5}));
  EXPECT_EQ(pooled(mean), (Pair{2, 1}));
  const auto root = static_cast<float>(std::sqrt(3.0));
  EXPECT_FLOAT_EQ(pooled(scaled_sum)[0], 6 / root);
  EXPECT_FLOAT_EQ(pooled(scaled_sum)[1], 3 / root);
  EXPECT_EQ(pooled(weighted_mean), (Pair{2, static_cast<float>(13.0 / 6)}));
  EXPECT_EQ(pooled(last), (Pair{1, 5}));
}

TEST(SentenceEmbedding, ConcatenatesThenNormalizes) {
  const std::vector<float> values = {1, 2};  // one token
  const auto embedding =
      sentence_embedding({.poolings = {first, mean}, .normalizes = true}, {values.data(), 1, 2, 2});
  const auto length = static_cast<float>(std::sqrt(10.0));
  ASSERT_EQ(embedding.size(), 4u);
  for (std::size_t at = 0; at < 4; ++at) EXPECT_FLOAT_EQ(embedding[at], values[at % 2] / length);
  const std::vector<float> zeros = {0, 0};
  EXPECT_EQ(sentence_embedding({.poolings = {mean}, .normalizes = true}, {zeros.data(), 1, 2, 2}),
            zeros);
}

std::vector<float> saved_values(const Checkpoint& saved, const char* name) {
  const CheckpointTensor* found = saved.find(name);
  if (found == nullptr) return {};
  std::int64_t count = 1;
  for (const std::int64_t size : found->view.shape) count *= size;
  std::vector<float> out(static_cast<std::size_t>(count));
  decode_elements(found->view, 0, 1, count, out.data());
  return out;
}

TEST(CliPredict, SavesTheEmbeddingOfSentenceTransformers) {
  const TempFolder temp;
  const fs::path from = data_path("classifiers/bert");
  fs::create_directories(temp.path() / "0_Transformer");
  for (const char* file : {"config.json", "model.safetensors", "vocab.txt"}) {
    fs::copy_file(from / file, temp.path() / "0_Transformer" / file);
  }
  temp.write("modules.json",
             R"([{"path": "0_Transformer", "type": "sentence_transformers.models.Transformer"},
                 {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])");
  fs::create_directories(temp.path() / "1_Pooling");
  temp.write("1_Pooling/config.json", R"({"pooling_mode_mean_tokens": true})");
  const std::string file = (temp.path() / "saved.safetensors").string();
  output_of({"predict", temp.path(), "--tokens", "2,5,6,3", "--save", file, "--quiet"});
  const Checkpoint saved = Checkpoint::open(file);
  const std::vector<float> states = saved_values(saved, "hidden_states"),
                           embedding = saved_values(saved, "sentence_embedding");
  ASSERT_FALSE(embedding.empty());
  const std::size_t width = embedding.size(), last = states.size() - 4 * width;
  for (std::size_t column = 0; column < width; ++column) {
    double sum = 0;
    for (std::size_t token = 0; token < 4; ++token) sum += states[last + token * width + column];
    EXPECT_NEAR(embedding[column], sum / 4, 1e-6) << column;
  }
}

}  // namespace
}  // namespace attnscope::test
