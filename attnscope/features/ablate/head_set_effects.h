// Measured effects of ablating sets of heads on texts.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/features/ablate/head_sets_run.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/interventions/head_set_ablation.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Effect of one set: sums over the tokens of each sequence, see HeadSetAblation.
struct SetEffect {
  std::vector<double> clean_loss, loss, kl, changed;
  std::vector<std::int64_t> predicted, positions;

  /// Throws refuse_field() if the row of the analysis is incomplete.
  explicit SetEffect(const Record& row);

  /// Increase of the loss, summed over each sequence.
  std::vector<double> increase() const;
  double mean_increase() const;  // nats per token

  /// Adds the fields from `ablation` to `top_token_changed`.
  void add_fields(Record& row, const std::string& how) const;
  /// Adds `loss` and `predicted`.
  void add_baseline(Record& row) const;
};

using SetEffects = std::map<HeadSet, SetEffect>;

/// Ablates sets of heads of one or more models, which are ready to run.
class SetRuns {
 public:
  /// All arguments must outlive this object. Throws the errors of check_predicts_tokens() and
  /// check_resampling().
  SetRuns(std::span<const Model> models, const AblateSetsRequest& request, const Context& context,
          RowSink& sink);

  /// Returns the effects of sets, per model. `sets`: ascending heads, each set once.
  std::vector<SetEffects> effects_of(const std::vector<std::vector<HeadSet>>& sets) const;

  /// The report's models and parameters. `parameters`: those before the shared ones.
  ReportHead head(Record parameters) const;

 private:
  Record parameters() const;
  void add_items(Plan& plan, std::size_t model, const std::vector<HeadSet>& sets) const;

  std::span<const Model> models_;
  const AblateSetsRequest& request_;
  ReadyModels ready_;
  RowSink& sink_;
};

}  // namespace attnscope
