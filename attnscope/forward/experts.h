// Mixture-of-experts (MoE) layers in the forward pass.
#pragma once

#include <cstdint>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/hooks.h"
#include "attnscope/forward/weights/forward_weights.h"
#include "attnscope/model/model_spec.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

struct ChosenExperts;

/// Chooses the experts of each row from the router's logits (rows, E), with their factors.
ChosenExperts route(const ExpertWeights& weights, const ExpertSpec& spec,
                    MatrixView<const float> logits, const Compute& compute);

/// Computes the outputs of a layer's experts.
class ExpertRun {
 public:
  ExpertRun(const ModelSpec& spec, const ForwardObserver& observer, const HookCalls& hooks,
            const Compute& compute)
      : spec_(spec), observer_(observer), hooks_(hooks), compute_(compute) {}

  /// Computes out = Σ weight · expert(input) + shared(input), (rows, D), or adds it to `out` if
  /// `add` is set. Experts with norms of their own read `stream`, the residual stream before the
  /// norm that gave `input`. `out` may alias one of the inputs. Each expert that is chosen by some
  /// row runs once, on all its rows; its weights are decoded during this run. Throws like the
  /// reading of weights.
  void run(std::int64_t layer, const ExpertWeights& weights, MatrixView<const float> stream,
           MatrixView<const float> input, MatrixView<float> out, bool add);

 private:
  struct Visit;  // the rows routed to one expert

  void run_expert(std::int64_t layer, const ExpertWeights& weights, const Visit& visit,
                  MatrixView<const float> input);
  /// Shows the experts of each row to hooks, by falling weight.
  void show_chosen(std::int64_t layer, ChosenExperts& chosen) const;
  void run_shared(std::int64_t layer, const ExpertWeights& weights, MatrixView<const float> input);

  const ModelSpec& spec_;
  const ForwardObserver& observer_;
  const HookCalls& hooks_;
  const Compute& compute_;
  Matrix<float> logits_, sum_, gathered_, wide_, gate_, given_, shared_wide_, shared_weight_,
      normed_, latents_;
  Matrix<float> slots_;  // (rows, k D): output of each chosen expert, if a hook wants it
};

}  // namespace attnscope
