// Mixtures of experts in the forward pass.
#pragma once

#include <cstdint>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/weights/forward_weights.h"
#include "attnscope/model/model_spec.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// What a layer's experts make of its rows.
class ExpertRun {
 public:
  ExpertRun(const ModelSpec& spec, const ForwardObserver& observer, const Compute& compute)
      : spec_(spec), observer_(observer), compute_(compute) {}

  /// out = Σ weight · expert(input) + shared(input), (rows, D), or that added to what `out` holds.
  /// Experts with norms of their own read `stream`, which is what the norm of `input` read. `out`
  /// may be one of these itself. Each expert that some row chose runs once, over all of those
  /// rows; its weights are decoded while it runs. Throws as the reading of weights does.
  void run(std::int64_t layer, const ExpertWeights& weights, MatrixView<const float> stream,
           MatrixView<const float> input, MatrixView<float> out, bool add);

 private:
  struct Visit;  // of one expert by some of the rows

  void run_expert(std::int64_t layer, const ExpertWeights& weights, const Visit& visit,
                  MatrixView<const float> input);
  void run_shared(std::int64_t layer, const ExpertWeights& weights, MatrixView<const float> input);

  const ModelSpec& spec_;
  const ForwardObserver& observer_;
  const Compute& compute_;
  Matrix<float> logits_, sum_, gathered_, wide_, gate_, given_, shared_wide_, shared_weight_,
      normed_;
};

}  // namespace attnscope
