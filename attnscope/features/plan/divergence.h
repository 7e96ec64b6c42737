// KL divergence between the predictions of a model and of a changed model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/features/common/changed_model.h"
#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// Mean over positions of Σ_v p log(p / q), where p and q are the predictions of the original and
/// the changed model. Positions: next tokens, or masked tokens if there is a mask.
class Divergence {
 public:
  /// `pass`: for model_that_predicts(); must outlive it. Keeps the input of each layer on the
  /// windows.
  Divergence(const ForwardPass& pass, const TextWindows& text, const Compute& compute);

  /// Whether the whole changed model is opened instead of a single layer.
  bool opens_whole_models() const { return !cuts_; }

  /// Final hidden states of a model that differs only in this layer, at the compared positions.
  /// Runs the changed layer, then the unchanged layers after it. Thread-safe.
  Matrix<float> states_of(const ChangedModel& changed, std::int64_t layer,
                          const Compute& compute) const;
  /// The divergence of each of several such models, in nats, float64.
  std::vector<double> of(std::span<const Matrix<float>> states, const Compute& compute) const;

 private:
  Matrix<float> last_states(const Model& changed, std::int64_t layer, const Compute& compute) const;

  const ForwardPass& pass_;
  std::vector<TokenIds> windows_, sources_;
  std::vector<std::int64_t> rows_;  // compared positions, over all windows
  bool copy_weights_;
  bool cuts_ = false;                  // layers can run alone
  std::vector<Matrix<float>> states_;  // layer inputs; the last entry is the final hidden state
};

}  // namespace attnscope
