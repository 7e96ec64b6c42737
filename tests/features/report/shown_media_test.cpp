#include "attnscope/features/report/shown_media.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attnscope {
namespace {

/// 8-bit values of shape (3, rows, cols). Adjacent values always differ.
MediaInput numbers_of_pixels(std::int64_t rows, std::int64_t cols) {
  MediaInput image{.shape = {3, rows, cols}, .values = {}};
  for (std::int64_t at = 0; at < 3 * rows * cols; ++at) {
    image.values.push_back(static_cast<float>(at * 37 % 256));
  }
  return image;
}

ImagePreparation preparation() {
  return {.factor = 1 / 255.0,
          .mean = std::array{0.485, 0.456, 0.406},
          .deviation = std::array{0.229, 0.224, 0.225}};
}

/// The values after the model's preprocessing.
MediaInput prepared(MediaInput image) {
  const ImagePreparation how = preparation();
  const auto each = image.values.size() / 3;
  for (std::size_t at = 0; at < image.values.size(); ++at) {
    const double share = static_cast<double>(image.values[at]) * *how.factor;
    image.values[at] =
        static_cast<float>((share - (*how.mean)[at / each]) / (*how.deviation)[at / each]);
  }
  return image;
}

int byte_at(const ShownImage& image, std::int64_t row, std::int64_t col, std::int64_t channel) {
  const auto at = static_cast<std::size_t>((row * image.cols + col) * 3 + channel);
  return static_cast<unsigned char>(image.bytes.at(at));
}

TEST(ShownMedia, ShowsAnImageAsBeforePreprocessing) {
  const MediaInput image = numbers_of_pixels(8, 12);
  const ShownImage shown =
      shown_image(prepared(image), {.before = 1, .rows = 2, .cols = 3}, 4, preparation());
  ASSERT_EQ(shown.rows, 8);
  ASSERT_EQ(shown.cols, 12);
  for (std::int64_t channel = 0; channel < 3; ++channel) {
    for (std::int64_t row = 0; row < 8; ++row) {
      for (std::int64_t col = 0; col < 12; ++col) {
        const auto at = static_cast<std::size_t>((channel * 8 + row) * 12 + col);
        ASSERT_EQ(byte_at(shown, row, col, channel), static_cast<int>(image.values[at]));
      }
    }
  }
}

TEST(ShownMedia, OmitsPixelsOutsidePatches) {
  const ShownImage image = shown_image(prepared(numbers_of_pixels(9, 14)),
                                       {.before = 0, .rows = 2, .cols = 3}, 4, preparation());
  EXPECT_EQ(image.rows, 8);
  EXPECT_EQ(image.cols, 12);
  EXPECT_EQ(byte_at(image, 1, 0, 0), 14 * 37 % 256) << "rows are those of the whole image";
}

TEST(ShownMedia, StretchesValuesWithoutAPreprocessor) {
  const MediaInput image{.shape = {1, 1, 3}, .values = {-2, 0, 2}};
  const ShownImage shown = shown_image(image, {.before = 0, .rows = 1, .cols = 3}, 1, std::nullopt);
  const std::string gray = {0, 0, 0, '\x80', '\x80', '\x80', '\xFF', '\xFF', '\xFF'};
  EXPECT_EQ(shown.bytes, gray);
}

TEST(ShownMedia, AveragesBlocksOfLargeImages) {
  MediaInput image{.shape = {3, 1280, 1280}, .values = {}};
  for (std::int64_t at = 0; at < 3 * 1280 * 1280; ++at) {
    image.values.push_back(static_cast<float>(at % 2 == 0 ? 100 : 50));
  }
  const ShownImage shown =
      shown_image(image, {.before = 1, .rows = 80, .cols = 80}, 16, ImagePreparation{});
  EXPECT_EQ(shown.rows, 640);
  EXPECT_EQ(shown.cols, 640);
  EXPECT_EQ(shown.bytes, std::string(3 * 640 * 640, 75));
}

TEST(ShownMedia, ShowsTheRootMeanSquareOfAWave) {
  const MediaInput wave{.shape = {8}, .values = {3, -3, 0, 0, 0, 4, 1, -1}};
  const ShownAudio audio = shown_audio(wave, 4);
  EXPECT_DOUBLE_EQ(audio.seconds, 8 / 16000.0);
  ASSERT_EQ(audio.levels.size(), 4u);
  EXPECT_DOUBLE_EQ(audio.levels[0], 1);
  EXPECT_DOUBLE_EQ(audio.levels[1], 0);
  EXPECT_DOUBLE_EQ(audio.levels[2], std::sqrt(8.0) / 3);
  EXPECT_DOUBLE_EQ(audio.levels[3], 1 / 3.0);
}

TEST(ShownMedia, ScalesFeaturesFromSmallestToLargestMean) {
  const MediaInput features{.shape = {2, 4}, .values = {-1, -1, 0, 0, -3, -3, 2, 4}};
  const ShownAudio audio = shown_audio(features, 2);
  EXPECT_DOUBLE_EQ(audio.seconds, 0.04);
  EXPECT_EQ(audio.levels, (std::vector<double>{0, 1}));
}

TEST(ShownMedia, ShowsSilenceAsZero) {
  EXPECT_EQ(shown_audio({.shape = {4}, .values = {0, 0, 0, 0}}, 2).levels,
            (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace attnscope
