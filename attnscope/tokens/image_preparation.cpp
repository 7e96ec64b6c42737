#include "attnscope/tokens/image_preparation.h"

#include <algorithm>
#include <cmath>

#include "attnscope/core/error.h"
#include "attnscope/tokens/resized_picture.h"

namespace attnscope {
namespace {

/// Source: transformers, get_resize_output_image_size().
ImageSize size_of(const Picture& picture, const ImagePreparation& preparation) {
  if (preparation.size) return *preparation.size;
  if (!preparation.shortest_edge) return {picture.rows, picture.cols};
  const std::int64_t edge = *preparation.shortest_edge;
  const auto longer = [&](std::int64_t longest, std::int64_t shortest) {
    return static_cast<std::int64_t>(static_cast<double>(edge * longest) /
                                     static_cast<double>(shortest));
  };
  if (picture.cols <= picture.rows) return {longer(picture.rows, picture.cols), edge};
  return {edge, longer(picture.cols, picture.rows)};
}

Signal as_numbers(const Picture& picture) {
  Signal out{.shape = {3, picture.rows, picture.cols},
             .values = std::vector<float>(picture.rgb.size())};
  const std::size_t pixels = picture.rgb.size() / 3;
  for (std::size_t at = 0; at < picture.rgb.size(); ++at) {
    out.values[at % 3 * pixels + at / 3] = static_cast<float>(picture.rgb[at]);
  }
  return out;
}

/// Source: transformers, TorchvisionBackend.center_crop().
Signal cropped(const Signal& image, const ImageSize& size) {
  const std::int64_t rows = image.shape[1], cols = image.shape[2];
  const auto first = [](std::int64_t own, std::int64_t wanted) {
    return own >= wanted ? (own - wanted) / 2 : -((wanted - own) / 2);
  };
  const std::int64_t top = first(rows, size.rows), left = first(cols, size.cols);
  Signal out{.shape = {3, size.rows, size.cols},
             .values = std::vector<float>(static_cast<std::size_t>(3 * size.rows * size.cols))};
  const std::int64_t begin = std::max<std::int64_t>(0, -left);
  const std::int64_t end = std::min(size.cols, cols - left);
  for (std::int64_t line = 0; line < 3 * size.rows; ++line) {
    const std::int64_t channel = line / size.rows, row = line % size.rows + top;
    if (row < 0 || row >= rows || end <= begin) continue;
    const float* from = image.values.data() + (channel * rows + row) * cols;
    std::copy(from + left + begin, from + left + end,
              out.values.begin() + line * size.cols + begin);
  }
  return out;
}

}  // namespace

Signal prepare_image(const Picture& picture, const ImagePreparation& preparation) {
  const ImageSize size = size_of(picture, preparation);
  check_picture_size(static_cast<std::uint64_t>(size.rows), static_cast<std::uint64_t>(size.cols),
                     "the resized picture");
  const bool in_bytes = !preparation.resizes_numbers;
  Signal image =
      as_numbers(in_bytes ? resized(picture, size.rows, size.cols, preparation.filter) : picture);
  // Where both are done, transformers' fused form divides by std / factor.
  const bool fused = in_bytes && preparation.factor && preparation.mean;
  const auto factor = static_cast<float>(preparation.factor.value_or(1));
  if (preparation.factor && !fused) {
    for (float& value : image.values) value *= factor;
  }
  if (!in_bytes) image = resized_numbers(image, size.rows, size.cols, preparation.filter);
  if (preparation.crop) image = cropped(image, *preparation.crop);
  if (!preparation.mean) return image;
  const auto times = static_cast<float>(fused ? 1 / *preparation.factor : 1);
  const std::size_t pixels = image.values.size() / 3;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const float mean = static_cast<float>((*preparation.mean)[channel]) * times;
    const float deviation = static_cast<float>((*preparation.deviation)[channel]) * times;
    for (std::size_t at = channel * pixels; at < (channel + 1) * pixels; ++at) {
      image.values[at] = (image.values[at] - mean) / deviation;
    }
  }
  return image;
}

}  // namespace attnscope
