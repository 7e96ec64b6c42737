// How far the predictions of a changed model are from those of the model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/features/common/changed_model.h"
#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// Mean over positions of Σ_v p log(p / q), p a model's next tokens and q those of a changed one;
/// with a mask over those that it hides.
class Divergence {
 public:
  /// `pass`: of what is model_that_predicts(), must outlive it. Keeps what enters each of its
  /// layers on the windows.
  Divergence(const ForwardPass& pass, const TextWindows& text, const Compute& compute);

  /// Whether a changed model is opened as a whole and not one layer of it.
  bool opens_whole_models() const { return !cuts_; }

  /// What a model with other numbers in that layer alone gives at the positions that are compared.
  /// Runs the layer with them, and then those above it as they are. Any thread may call.
  Matrix<float> states_of(const ChangedModel& changed, std::int64_t layer,
                          const Compute& compute) const;
  /// Of each of several such models, in nats, float64.
  std::vector<double> of(std::span<const Matrix<float>> states, const Compute& compute) const;

 private:
  Matrix<float> last_states(const Model& changed, std::int64_t layer, const Compute& compute) const;

  const ForwardPass& pass_;
  std::vector<TokenIds> windows_, sources_;
  std::vector<std::int64_t> rows_;  // that are compared, of all windows' together
  bool copy_weights_;
  bool cuts_ = false;                  // layers may be run alone
  std::vector<Matrix<float>> states_;  // that enter each layer; the last are the final ones
};

}  // namespace attnscope
