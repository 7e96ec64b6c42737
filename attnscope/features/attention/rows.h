// The measures of one layer's maps in the form of stores, and the rows made from them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/outcome.h"
#include "attnscope/engine/work_item.h"
#include "attnscope/features/attention/measures.h"
#include "attnscope/features/attention/uniform_baseline.h"
#include "attnscope/interventions/attended_token_effect.h"
#include "attnscope/numerics/statistics/running_mean.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// The outcome of one layer's maps: of each head of the first sequence, then of the next one.
/// `uniform`: values of uniform attention; all sequences have its number of tokens.
Outcome attention_outcome(std::int64_t layer, std::int64_t heads,
                          std::span<const AttentionMapMeasures> maps,
                          const UniformAttention& uniform, const AttentionMapOptions& options);

/// Accumulates such outcomes, model by model, and writes rows: each layer's heads, then the layer.
/// The same order of sequences gives identical results.
RowMaker attention_row_maker(RowSink& sink);

// `attended_token_effect` of the heads of a batch, in addition to the measures of their maps.

class AttendedTokenEffects {
 public:
  /// Adds the mean unembedding row of the whole text to the items of a model, which
  /// `attended_token_effect` requires. Does nothing if its logits are not a sum of head outputs.
  static void prepare(const ForwardPass& pass, std::span<const TokenIds> sequences,
                      std::span<WorkItem> items);

  AttendedTokenEffects(const WorkItem& item, const Compute& compute)
      : item_(item), compute_(compute) {}

  /// If the item can have effects, the pass then runs to its end.
  void watch(const ForwardPass& pass, ForwardObserver& observer);
  /// Adds `attended_token_effect` (sequences, H) to the outcome of each layer.
  void add_to(std::vector<Outcome>& outcomes) const;

 private:
  const WorkItem& item_;
  const Compute& compute_;
  std::optional<LinearHead> head_;
  std::optional<AttendedTokenEffect> attended_token_effect_;
};

/// Adds the effects of an outcome to the means of each head; nothing if it has none.
void add_attended_token_effects(const Record& fields, std::vector<RunningMean>& heads);

}  // namespace attnscope
