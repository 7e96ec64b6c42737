// Which images a command runs: a picture, or pixels that someone prepared.
#pragma once

#include <string>
#include <vector>

#include "attnscope/commands/shared_parameters.h"
#include "attnscope/core/signal.h"

namespace attnscope {

/// image, pixel_values.
Parameters image_parameters();

/// Whether one of them is given.
bool names_images(const Arguments& arguments);

/// The last part of the name of their file.
std::string image_source(const Arguments& arguments);

/// Where images are named, leaves the models, or stacks of models, that read some; else those that
/// read none, where there are such. Throws Error(usage) where none is left.
void keep_readers(const Arguments& arguments, std::vector<Model>& models);

/// As the model reads them: of one picture as its processor prepares it; of an array (C, H, W) or
/// (N, C, H, W). At least one, all of one shape. Throws as read_picture(),
/// read_image_preparation() and read_npy() do.
std::vector<Signal> images_of(const Arguments& arguments, const Session& session,
                              const Model& model);

}  // namespace attnscope
