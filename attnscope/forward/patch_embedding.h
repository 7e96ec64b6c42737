// Patch embedding: from images to the input of layer 0.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/weights/tensor_reader.h"
#include "attnscope/numerics/inference/rotary.h"

namespace attnscope {

/// Returns the patch grid of an image. Throws Error(usage) if the image does not fit the model.
PatchGrid grid_of_image(const Model& model, const MediaInput& image);

/// Returns the input of layer 0 for several images. Throws like grid_of_image(), and for images of
/// different shapes.
PreparedStates embed_images(const Model& model, const ForwardWeights& weights,
                            std::span<const MediaInput> images, const Compute& compute);

/// Returns the rotary table of a patch grid; see PatchSpec. Angles are rounded to float32 at each
/// step, as in transformers.
RotaryTable patch_rotary_table(double base, std::int64_t head_dim, const PatchGrid& grid);

// Weights of the patch embedding, read from a checkpoint.

/// Throws like TensorReader.
PatchWeights read_patch_weights(const TensorReader& reader, const PatchSpec& spec);

}  // namespace attnscope
