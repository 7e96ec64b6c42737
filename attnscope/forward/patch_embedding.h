// From images to what enters layer 0.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/weights/tensor_reader.h"
#include "attnscope/numerics/inference/rotary.h"

namespace attnscope {

/// Throws Error(usage) for an image that the model does not read.
PatchGrid grid_of_image(const Model& model, const MediaInput& image);

/// Throws likewise, and for images of several shapes.
PreparedStates embed_images(const Model& model, const ForwardWeights& weights,
                            std::span<const MediaInput> images, const Compute& compute);

/// See PatchSpec. Angles are rounded to float32 at each step, as transformers computes them.
RotaryTable patch_rotary_table(double base, std::int64_t head_dim, const PatchGrid& grid);

// What a forward pass reads of a checkpoint to make rows of images.

/// Throws as TensorReader does.
PatchWeights read_patch_weights(const TensorReader& reader, const PatchSpec& spec);

}  // namespace attnscope
