// Converts an image to the inputs of a model, as specified in its preprocessor_config.json.
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

/// Resizes to as many patches as possible, at most `most`, with about the aspect ratio of the
/// image.
struct PatchLimit {
  std::int64_t size = 16;  // pixels, for both sides of a patch
  std::int64_t most = 256;
};

/// The steps of one of transformers' image processors. A missing step is skipped.
struct ImagePreparation {
  std::optional<ImageSize> size;              // resizes to this size, whatever the aspect ratio
  std::optional<std::int64_t> shortest_edge;  // or resizes so that the shorter side has this size
  std::optional<std::int64_t> longest_edge;   // or so that the longer side has it (SAM)
  std::optional<PatchLimit> patches;          // or to a number of patches (SigLIP 2)
  ResampleFilter filter = ResampleFilter::bilinear;
  bool resizes_numbers = false;   // after `factor`, without rounding to 8 bits (DINOv3)
  std::optional<ImageSize> crop;  // center crop; smaller images are padded with black
  std::optional<double> factor;   // factor of values from 0 to 255
  std::optional<std::array<double, 3>> mean, deviation;  // (x - mean) / deviation; both or none
  std::optional<ImageSize> pad;  // adds zeros below and to the right, at the end
};

/// Reads preprocessor_config.json, or the processor_config.json of folders with one file for all
/// processors. Missing settings get the defaults of the processor class. Throws Error(usage) if
/// there is no such file, Error(unsupported) for an unknown class or step, and Error(format) for
/// invalid values.
ImagePreparation read_image_preparation(const CheckpointFolder& folder);

/// Returns (3, rows, columns). Resizing with 8 bits gives exactly Pillow's values. Throws
/// Error(unsupported) for a size above the image limits.
MediaInput prepare_image(const RgbImage& rgb_image, const ImagePreparation& preparation);

}  // namespace attnscope
