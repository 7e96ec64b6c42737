// Reads the windows of an image's patches, and patch merging between stages, from config.json.
#pragma once

#include <string>

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Sets the windows of all layers, and the patch merging after stages. Requires the size of images.
/// Returns why they are not supported; empty if they are.
std::string set_patch_windows(ModelSpec& spec, const ConfigReader& config);

}  // namespace attnscope
