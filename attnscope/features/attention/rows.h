// What the maps of one layer said, as stores keep it, and the rows that it makes.
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

/// The measures of one layer's maps: of each head of a sequence, then of the next one. `uniform`:
/// what its rows have beside them; all sequences have its number of tokens.
Outcome attention_outcome(std::int64_t layer, std::int64_t heads,
                          std::span<const AttentionMapMeasures> maps,
                          const UniformAttention& uniform, const AttentionMapOptions& options);

/// Adds up such outcomes, model by model: each layer's heads, then the layer. The same order of
/// sequences gives the same digits.
RowMaker attention_row_maker(RowSink& sink);

// `raises` of the heads of a batch, beside the measures of their maps.

class AttendedTokenEffects {
 public:
  /// Gives the items of one model the mean output row of its whole text, without which they have no
  /// `raises`: nothing where its logits are no sum of what heads write.
  static void prepare(const ForwardPass& pass, std::span<const TokenIds> sequences,
                      std::span<WorkItem> items);

  AttendedTokenEffects(const WorkItem& item, const Compute& compute)
      : item_(item), compute_(compute) {}

  /// Where the item can have them, the pass then runs to its end.
  void watch(const ForwardPass& pass, ForwardObserver& observer);
  /// Adds `raises` (sequences, H) to the outcome of each layer.
  void add_to(std::vector<Outcome>& outcomes) const;

 private:
  const WorkItem& item_;
  const Compute& compute_;
  std::optional<LinearHead> head_;
  std::optional<AttendedTokenEffect> attended_token_effect_;
};

/// Adds an outcome's `raises` to the means of each head; nothing where it has none.
void add_attended_token_effects(const Record& fields, std::vector<RunningMean>& heads);

}  // namespace attnscope
