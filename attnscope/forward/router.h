// Routing: which experts a token is routed to, and with which weights.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/model/layer_spec.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Chosen experts of each row, best first.
struct ChosenExperts {
  std::int64_t chosen = 0;            // k
  std::vector<std::int64_t> experts;  // (rows, k)
  std::vector<float> weights;         // (rows, k)
  /// (rows,): 1 if a rejected expert (or one of a rejected group) has the same score as a chosen
  /// one, else 0.
  std::vector<std::uint8_t> tied;
};

/// Chooses experts. `logits`: (rows, E). `choice_bias`: (E,), or empty. Ties go to the lower expert
/// index; NaN ranks last. Reference: the routers of transformers 5.23 that RouterScore names.
ChosenExperts choose_experts(const ExpertSpec& spec, MatrixView<const float> logits,
                             std::span<const float> choice_bias, const Compute& compute);

}  // namespace attnscope
