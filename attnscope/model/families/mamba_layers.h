// Layers of families that combine Mamba with attention.
#pragma once

#include <string>
#include <utility>
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

/// Returns Mamba-2 with the keys and defaults of Bamba. `place`: see Mamba2Rule.
inline Mamba2Rule bamba_mixer(std::string place) {
  return {.heads = {"mamba_n_heads", 128},
          .head_dim = {"mamba_d_head"},
          .expand = {"mamba_expand", 2},
          .groups = {"mamba_n_groups", 1},
          .state_dim = {"mamba_d_state", 256},
          .kernel = {"mamba_d_conv", 4},
          .place = std::move(place),
          .biased = {"mamba_proj_bias", false},
          .output_biased = {"mamba_proj_bias", false},
          .convolution_biased = {"mamba_conv_bias", true},
          .activation_key = "hidden_act",
          .step_limits = "time_step_limit"};
}

}  // namespace attnscope
