// Compresses one model with several methods and measures the results.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/features/common/calibration/calibration.h"
#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/features/common/calibration/removal_loss.h"
#include "attnscope/features/plan/model_size.h"
#include "attnscope/features/plan/rank_search.h"
#include "attnscope/features/plan/resumable_steps.h"
#include "attnscope/features/plan/run.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// A choice that was measured.
struct Candidate {
  Choice choice;
  ModelSize size;
  double mean_nll = 0;
  double predicted_kl = 0;  // low_rank: sum of the predicted KL divergences, in nats
  std::string target = {};  // the target that selects the same plan: "set mlp=384", "keep 0.75"
};

/// The removal order of layers.
struct LayerOrder {
  std::vector<std::int64_t> removed;  // in removal order
  std::vector<double> losses;         // after each removal, in nats
  std::vector<double> alone;          // per layer, if only it is removed
};

/// Influence of a layer on the residual stream, and ablation effects of its components. NaN:
/// unknown.
struct LayerImportance {
  /// 1 − mean cosine similarity of the residual stream before and after the layer, its attention
  /// and its MLP.
  double influence = 0, attention_influence = 0, mlp_influence = 0;
  double attention_loss = 0, mlp_loss = 0;  // loss increase without only that component, in nats
};

/// Computes results on request, on the calling thread with the help of `compute`, unless the steps
/// have them from an earlier run. All arguments must outlive it.
class Planner {
 public:
  Planner(const Model& model, const PlanRequest& request, PlanSteps& steps, const Compute& compute);

  const Model& model() const { return model_; }
  const PlanSteps& steps() const { return steps_; }
  const Calibration& calibration() const { return calibration_; }
  const ModelSize& size() const { return size_; }
  /// The windows for searching and comparing, or all windows.
  TextWindows measured_text(bool all) const;
  double nll_before(bool all);
  double nll_of(const Choice& choice, bool all);
  Model made(const Choice& choice);
  /// Measures a choice on the windows for searching and comparing.
  Candidate measured(const Choice& choice);

  /// The sizes of the method in descending order, the original size first; multiples of `round` if
  /// the method rounds.
  std::vector<std::int64_t> sizes(Method method) const;
  /// The best choice of this size. Some methods measure candidates to find it.
  Choice at_size(Method method, std::int64_t size);
  /// For low_rank: factors with at most this many parameters.
  Choice at_budget(std::int64_t parameters);
  double predicted_kl(const Choice& choice);

  /// Removes layers one by one, each time the layer whose removal gives the lowest loss; at least
  /// `count`.
  const LayerOrder& removals(std::int64_t count);
  /// removed_neurons() per MLP, at least `count`.
  const std::vector<std::vector<std::int64_t>>& neurons(std::int64_t count);
  /// Per layer.
  std::vector<LayerImportance> layer_importance();
  const RankTable& ranks();
  /// Matrices that ranks() left unchanged.
  const std::vector<Skipped>& skipped() const { return ranks_.skipped; }

  /// The number of steps that at_size() takes for all these sizes, and that ranks() takes.
  std::size_t steps_of(Method method, const std::vector<std::int64_t>& sizes) const;
  std::size_t rank_steps() const;

 private:
  /// Mean negative log-likelihood without the removed layers and one more, for each remaining
  /// layer.
  std::vector<double> nll_without_each(const std::vector<std::int64_t>& left);
  std::vector<NllWithoutPart> nll_without_parts();
  void find_neurons(std::int64_t count);
  double ridge() const;
  /// The pass of the predicting model: the model itself, or the decoder of an encoder.
  const ForwardPass& pass();
  /// Identifies a loss on all of the evaluation text, or on the windows for searching and
  /// comparing.
  Record measured_facts(bool all) const;
  /// Influences of all layers in the original model, by name.
  std::vector<Outcome> influences();

  const Model& model_;
  const PlanRequest& request_;
  PlanSteps& steps_;
  const Compute& compute_;
  std::string fitted_hash_;  // hash of the calibration text
  Calibration calibration_;
  // For an encoder; set on first use.
  std::optional<Model> decoder_;
  std::optional<ForwardPass> decoder_pass_;
  ModelSize size_;
  std::optional<double> before_few_, before_all_;
  LayerOrder order_;
  std::vector<std::vector<std::int64_t>> neurons_;  // per layer, in removal order
  RankTable ranks_;
};

}  // namespace attnscope
