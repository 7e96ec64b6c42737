// From a picture to the numbers that a model reads, as its preprocessor_config.json says.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "attnscope/base/model_inputs.h"
#include "attnscope/checkpoint/checkpoint_folder.h"
#include "attnscope/inputs/image/image_file.h"
#include "attnscope/inputs/image/resize.h"

namespace attnscope {

struct ImageSize {
  std::int64_t rows = 0, cols = 0;
};

/// What one of transformers' image processors does, step by step. An absent step is left out.
struct ImagePreparation {
  std::optional<ImageSize> size;              // to which a picture is resized, whatever its shape
  std::optional<std::int64_t> shortest_edge;  // or so that its shorter side is this
  ResampleFilter filter = ResampleFilter::bilinear;
  bool resizes_numbers = false;   // after `factor`, not rounded to 8 bits (DINOv3)
  std::optional<ImageSize> crop;  // of its middle; where it is smaller, black is added
  std::optional<double> factor;   // of values from 0 to 255
  std::optional<std::array<double, 3>> mean, deviation;  // (x - mean) / deviation, both or none
};

/// By preprocessor_config.json, or the processor_config.json of files that hold all processors in
/// one. What is not said is as the class of processors that is named has it. Throws Error(usage)
/// where there is no such file, Error(unsupported) for a class or step that is not known,
/// Error(format) for what makes no sense.
ImagePreparation read_image_preparation(const CheckpointFolder& folder);

/// (3, rows, columns). Resizing in 8 bits gives Pillow's numbers, digit for digit. Throws
/// Error(unsupported) for a size over the limits of pictures.
MediaInput prepare_image(const RgbImage& rgb_image, const ImagePreparation& preparation);

}  // namespace attnscope
