// Compresses one model in several ways, and measures what is left.
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
  double predicted_kl = 0;  // of low_rank: Σ of what probes predict, in nats
  std::string target = {};  // what asks for the same again: "set width=384", "keep 0.75"
};

/// One removal of a layer after another.
struct LayerOrder {
  std::vector<std::int64_t> removed;  // the first to go first
  std::vector<double> losses;         // after each removal, in nats
  std::vector<double> alone;          // of each layer, when it alone is gone
};

/// What a layer does to the stream, and what its parts are worth. NaN: not known.
struct LayerImportance {
  /// 1 - mean cosine of what enters and leaves the layer, its attention, and its MLP.
  double influence = 0, attention_influence = 0, mlp_influence = 0;
  double attention_loss = 0, mlp_loss = 0;  // when that alone is left out, in nats
};

/// Everything is computed when it is asked for, on the thread that asks, unless the steps have it
/// from an earlier run; the team of `compute` helps. All must outlive it.
class Planner {
 public:
  Planner(const Model& model, const PlanRequest& request, PlanSteps& steps, const Compute& compute);

  const Model& model() const { return model_; }
  const PlanSteps& steps() const { return steps_; }
  const Calibration& calibration() const { return calibration_; }
  const ModelSize& size() const { return size_; }
  /// What orders and menus are measured on, or all.
  TextWindows measured_text(bool all) const;
  double nll_before(bool all);
  double nll_of(const Choice& choice, bool all);
  Model made(const Choice& choice);
  /// On the windows of orders and menus.
  Candidate measured(const Choice& choice);

  /// The sizes of the method, descending, the model's own first; multiples of `round` if it rounds.
  std::vector<std::int64_t> sizes(Method method) const;
  /// The best choice of that size; of some methods it is found by measuring.
  Choice at_size(Method method, std::int64_t size);
  /// Of low_rank: factors with so many parameters.
  Choice at_budget(std::int64_t parameters);
  double predicted_kl(const Choice& choice);

  /// Layers removed one after another, each time the one without which the loss is least; at least
  /// so many.
  const LayerOrder& removals(std::int64_t count);
  /// removed_neurons() of each MLP, at least so many.
  const std::vector<std::vector<std::int64_t>>& neurons(std::int64_t count);
  /// Of each layer.
  std::vector<LayerImportance> layer_importance();
  const RankTable& ranks();
  /// What ranks() left as it is.
  const std::vector<Skipped>& skipped() const { return ranks_.skipped; }

  /// The steps that at_size() of each of these sizes takes together, and ranks().
  std::size_t steps_of(Method method, const std::vector<std::int64_t>& sizes) const;
  std::size_t rank_steps() const;

 private:
  /// Of the model without the layers that were removed and, of each that is left, without that one.
  std::vector<double> nll_without_each(const std::vector<std::int64_t>& left);
  std::vector<NllWithoutPart> nll_without_parts();
  void find_neurons(std::int64_t count);
  double ridge() const;
  /// Of what foretells: the model, or the decoder beside it.
  const ForwardPass& pass();
  /// What decides a loss on all of the held-out text, or on the windows of orders and menus.
  Record measured_facts(bool all) const;
  /// Of the model as it is and on all layers: influences by name.
  std::vector<Outcome> influences();

  const Model& model_;
  const PlanRequest& request_;
  PlanSteps& steps_;
  const Compute& compute_;
  std::string fitted_hash_;  // of the text
  Calibration calibration_;
  // Of an encoder, once they were asked for.
  std::optional<Model> decoder_;
  std::optional<ForwardPass> decoder_pass_;
  ModelSize size_;
  std::optional<double> before_few_, before_all_;
  LayerOrder order_;
  std::vector<std::vector<std::int64_t>> neurons_;  // of each layer, in the order that they go
  RankTable ranks_;
};

}  // namespace attnscope
