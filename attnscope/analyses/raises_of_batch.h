// `raises` of the heads of a batch, beside the measures of their maps.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "attnscope/analysis/mean_error.h"
#include "attnscope/forward/token_raises.h"
#include "attnscope/results/outcome.h"
#include "attnscope/run/work_item.h"

namespace attnscope {

class RaisesOfBatch {
 public:
  /// Gives the items of one model the mean output row of its whole text, without which they have no
  /// `raises`: nothing where its logits are no sum of what heads write.
  static void prepare(const ForwardPass& pass, std::span<const TokenIds> sequences,
                      std::span<WorkItem> items);

  RaisesOfBatch(const WorkItem& item, const Compute& compute) : item_(item), compute_(compute) {}

  /// Where the item can have them, the pass then runs to its end.
  void watch(const ForwardPass& pass, ForwardObserver& observer);
  /// Adds `raises` (sequences, H) to the outcome of each layer.
  void add_to(std::vector<Outcome>& outcomes) const;

 private:
  const WorkItem& item_;
  const Compute& compute_;
  std::optional<LinearHead> head_;
  std::optional<TokenRaises> raises_;
};

/// Adds an outcome's `raises` to the means of each head; nothing where it has none.
void add_raises(const Record& fields, std::vector<RunningMean>& heads);

}  // namespace attnscope
