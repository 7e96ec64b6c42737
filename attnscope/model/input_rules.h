// What enters the layers of models that read images, as data. Names are under the prefix.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/model/config_keys.h"

namespace attnscope {

/// How images of other sizes than that of config.json get positions.
enum class OtherSizes {
  refused,
  cubic,         // between the learned ones: torch's interpolate(mode="bicubic")
  wide_cubic,    // likewise, with antialias=True
  as_they_come,  // no positions are learned
};

/// An image is cut into square patches, row by row; each becomes a row of the stream. What is left
/// at the right and at the bottom is not seen.
struct PatchRule {
  ConfigKey image_size = {"image_size", 224};  // pixels, of both sides
  ConfigKey patch_size = {"patch_size", 16};
  ConfigKey channels = {"num_channels", 3};
  std::string projection;                // (D, channels, p, p); its bias if the file has one
  std::vector<std::string> tokens = {};  // rows before those of patches, such as the class token's
  std::string registers = {};            // (1, R, D): rows after these, without positions
  ConfigKey register_count = {};         // R; 0: none
  std::string positions = {};            // of tokens and patches, (1, n, D) or (n, D); empty: none
  OtherSizes other_sizes = OtherSizes::refused;
  /// Queries and keys of patches turn by row and column; this is the base of the angles. See
  /// PatchSpec.
  ConfigNumber rotation = {};
};

}  // namespace attnscope
