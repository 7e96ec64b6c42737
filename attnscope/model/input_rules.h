// What enters the layers of models that read images or sound, as data. Names are under the prefix.
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

/// A list of config.json, and what is taken where the file has none.
struct ConfigList {
  std::string name;  // empty: always the fallback
  std::vector<std::int64_t> fallback = {};
};

/// Sound becomes rows of the stream by convolutions along time, each with an activation.
struct SoundRule {
  bool of_waves = true;     // one number at a time; else spectrograms of so many features
  ConfigKey features = {};  // of these
  ConfigList widths, kernels, strides;  // of the convolutions
  std::int64_t padding = 0;             // zeros before and after
  std::string place;                    // of the n-th one: `{number}`, and its weight and bias
  std::int64_t first_number = 0;        // of `{number}`
  std::string norm = {};                // after it, named so
  std::string norm_key = {};            // "group": of the first, by channel; "layer": of all
  std::string projection_norm = {};     // of what the last one gives
  ConfigFlag has_projection_norm = {"", true};
  std::string projection = {};  // to D; empty: the last one gives D
  /// A wide convolution in groups, whose output is added: places are told apart by it.
  std::string places = {};
  ConfigKey places_kernel = {}, places_groups = {};
  ConfigFlag places_batch_norm = {"", false};  // which is not known
  std::string activation_key = {}, activation = "gelu";
};

}  // namespace attnscope
