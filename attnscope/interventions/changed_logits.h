// Logits where something was replaced, against those of the model as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/forward/logits.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// A row for each place.
struct CleanLogits {
  Matrix<float> logits, probabilities;
  std::vector<TokenOdds> odds;
};
CleanLogits clean_logits(Matrix<float> logits, const Compute& compute);

struct ChangedPlace {
  double log_sum = 0;    // of the changed logits
  double kl = 0;         // KL(clean ‖ changed), nats
  bool changed = false;  // another token is the likeliest
};
std::vector<ChangedPlace> compare_logits(const CleanLogits& clean, MatrixView<const float> changed,
                                         const Compute& compute);

/// −log of the probability of a token, nats.
double loss_of(MatrixView<const float> logits, std::size_t place, double log_sum,
               std::int64_t token);

}  // namespace attnscope
