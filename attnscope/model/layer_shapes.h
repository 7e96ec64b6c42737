// Layers whose heads and MLPs have shapes of their own, and layers that share keys and values.
#pragma once

#include <cstdint>
#include <optional>

#include "attnscope/model/config_keys.h"

namespace attnscope {

/// How the layers of an architecture differ in shape (Gemma 4). Full layers are those that have no
/// window where others have one.
struct LayerShapeRule {
  ConfigKey full_head_dim = {};
  ConfigKey full_kv_heads = {};              // read if values_are_keys
  ConfigFlag values_are_keys = {"", false};  // of full layers: W_K makes their values, too
  ConfigKey sharing_layers = {};             // so many at the end share, see KeyValueSharing
  ConfigFlag doubles_sharing = {"", false};  // the MLPs of those are twice as wide
};

/// Whence a layer has its keys and values.
struct KeyValueSharing {
  /// It takes those that this earlier layer made, after norms and rotation; none: it makes its own.
  std::optional<std::int64_t> from;
  bool values_are_keys = false;  // W_V is W_K, though values pass no rotation and another norm
};

}  // namespace attnscope
