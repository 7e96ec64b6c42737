// Image preprocessing, compared with transformers' image processors. Expected values:
// tools/golden_image_processors.py.
#include "attnscope/inputs/image/image_processor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/tensor/decode.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

const fs::path kImages = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/images";

std::string bytes_of(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

std::vector<float> numbers_of(const CheckpointTensor& tensor) {
  std::vector<float> out(static_cast<std::size_t>(tensor.view.element_count()));
  decode_elements(tensor.view, 0, 1, std::ssize(out), out.data());
  return out;
}

TEST(ImagePreparation, DecodesThePixelsOfPillow) {
  const Checkpoint expected = Checkpoint::open(kImages / "pixels.safetensors");
  ASSERT_EQ(expected.tensors().size(), 10U);
  for (const CheckpointTensor& tensor : expected.tensors()) {
    SCOPED_TRACE(tensor.name);
    const RgbImage rgb_image = read_rgb_image(bytes_of(kImages / tensor.name), tensor.name);
    ASSERT_EQ((Shape{rgb_image.rows, rgb_image.cols, 3}), tensor.view.shape);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(tensor.view.bytes.data());
    // Another build of the same JPEG decoder may round a color differently, by at most 1.
    const int allowed = tensor.name.ends_with(".jpg") ? 1 : 0;
    for (std::size_t at = 0; at < rgb_image.rgb.size(); ++at) {
      ASSERT_LE(std::abs(int{rgb_image.rgb[at]} - int{bytes[at]}), allowed) << "value " << at;
    }
  }
}

/// Starts from decoded pixels, because the test above checks decoding.
TEST(ImagePreparation, EqualsImageProcessorsOfTransformers) {
  const Checkpoint pixels = Checkpoint::open(kImages / "pixels.safetensors");
  std::size_t compared = 0;
  for (const auto& entry : fs::directory_iterator(kImages)) {
    if (!entry.is_directory()) continue;
    const ImagePreparation preparation = read_image_preparation(entry.path());
    const Checkpoint expected = Checkpoint::open(entry.path() / "expected.safetensors");
    for (const CheckpointTensor& tensor : expected.tensors()) {
      SCOPED_TRACE(entry.path().filename().string() + ", " + tensor.name);
      const auto dot = tensor.name.find('.');
      const CheckpointTensor& stored = *pixels.find(tensor.name.substr(dot + 1));
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(stored.view.bytes.data());
      const RgbImage rgb_image{.rows = stored.view.shape[0],
                               .cols = stored.view.shape[1],
                               .rgb = {bytes, bytes + stored.view.bytes.size()}};
      const MediaInput got = prepare_image(rgb_image, preparation);
      ASSERT_EQ(got.shape, tensor.view.shape);
      const std::vector<float> wanted = numbers_of(tensor);
      // Pillow's resizing is reproduced exactly. torchvision rounds its weights to 8 bits
      // differently, which can change a pixel by 1, or 1 / 255 divided by the smallest standard
      // deviation. float32 results, for values up to 3, differ by a few units in the last place.
      const double deviation =
          preparation.deviation
              ? *std::min_element(preparation.deviation->begin(), preparation.deviation->end())
              : 1;
      const bool by_bytes = tensor.name.starts_with("torchvision") && !preparation.resizes_numbers;
      const double allowed = 4e-6 + (by_bytes ? 1.001 / 255 / deviation : 0);
      for (std::size_t at = 0; at < wanted.size(); ++at) {
        ASSERT_NEAR(got.values[at], wanted[at], allowed) << "value " << at;
      }
      ++compared;
    }
  }
  EXPECT_EQ(compared, 200U);
}

TEST(ImagePreparation, RejectsUnknownConfigs) {
  const struct {
    const char* config;
    ErrorKind kind;
    const char* says;
  } cases[] = {
      {R"({"image_processor_type": "SegformerImageProcessor"})", ErrorKind::unsupported,
       "'SegformerImageProcessor'"},
      {"{}", ErrorKind::unsupported, "does not name its image processor"},
      {R"({"image_processor_type": "ViTImageProcessor", "size": {"longest_edge": 9}})",
       ErrorKind::unsupported, "'size'"},
      {R"({"image_processor_type": "ViTImageProcessor", "size": 0})", ErrorKind::format, "'size'"},
      {R"({"image_processor_type": "ViTImageProcessor", "resample": 9})", ErrorKind::unsupported,
       "'resample'"},
      {R"({"image_processor_type": "ViTImageProcessor", "image_std": [1, 0, 1]})",
       ErrorKind::format, "zero"},
      {R"({"image_processor_type": "ViTImageProcessor", "image_mean": [0, NaN, 1]})",
       ErrorKind::format, "'image_mean'"},
      {R"({"image_processor_type": "ViTImageProcessor", "rescale_factor": Infinity})",
       ErrorKind::format, "'rescale_factor'"},
      {R"({"image_processor_type": "ViTImageProcessor", "do_resize": 1})", ErrorKind::format,
       "neither true nor false"},
      {"[]", ErrorKind::format, "not a JSON object"},
  };
  for (const auto& each : cases) {
    const test::TempFolder folder;
    folder.write("preprocessor_config.json", each.config);
    EXPECT_ERROR_SAYING(each.kind, read_image_preparation(folder.path()), each.says);
  }
  const test::TempFolder empty;
  EXPECT_ERROR_SAYING(ErrorKind::usage, read_image_preparation(empty.path()),
                      "preprocessor_config.json");
}

TEST(ImagePreparation, ReadsOlderConfigKeys) {
  const test::TempFolder folder;
  folder.write("preprocessor_config.json",
               R"({"feature_extractor_type": "CLIPFeatureExtractor", "size": 20, "crop_size": 16,
                   "resample": 3, "image_mean": 0.25})");
  const ImagePreparation preparation = read_image_preparation(folder.path());
  EXPECT_EQ(preparation.shortest_edge, 20);
  EXPECT_EQ(preparation.crop->cols, 16);
  EXPECT_EQ((*preparation.mean)[2], 0.25);
  const test::TempFolder nested;
  nested.write("processor_config.json",
               R"({"image_processor": {"image_processor_type": "ViTImageProcessorFast"}})");
  EXPECT_EQ(read_image_preparation(nested.path()).size->rows, 224);
}

}  // namespace
}  // namespace attnscope
