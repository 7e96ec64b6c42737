// Layer types of families that combine Mamba with attention.
#pragma once

#include <vector>

#include "attnscope/model/expert_and_mixer_rules.h"

namespace attnscope {

inline constexpr const char* kMamba2 = "Mamba-2";

/// Returns `mixer` (such as kMamba2) and attention, under the names of transformers 5 and the older
/// ones.
inline std::vector<LayerKind> mamba_or_attention(const char* mixer) {
  return {{.name = "full_attention", .attends = true},
          {.name = "attention", .attends = true},
          {.name = "linear_attention", .mixer = mixer},
          {.name = "mamba", .mixer = mixer}};
}

}  // namespace attnscope
