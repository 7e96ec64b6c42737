// Selects the experts of a layer, and summarizes their measures.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/engine/outcome.h"
#include "attnscope/features/common/matrix_items.h"

namespace attnscope {

/// A list of experts and ranges, all experts, or a sample per layer.
struct ExpertSelection {
  /// Maximum size of a sample, which consists of every n-th expert.
  static constexpr std::int64_t kSample = 8;

  std::string text;  // "0-7,12", "all"; empty: a sample

  /// Returns the selected experts in ascending order without duplicates. Throws Error(usage) for an
  /// invalid list or an expert out of range; the error names the model.
  std::vector<std::int64_t> resolve(std::int64_t experts, std::string_view model) const;
};

/// Like add_layers(), but for MLP roles of MoE layers the items cover the selected experts. Adds a
/// note if they are a sample.
void add_layers_and_experts(Plan& plan, std::span<const Model> models,
                            std::span<const std::vector<Role>> roles, const LayerSelection& layers,
                            const ExpertSelection& experts, RowSink& notes);

/// Measures each expert of an item, with the field `expert`. Adds a summary over all of them:
/// `experts`, their number, and the median of each value (the lower of two middle values).
/// `measure` returns the fields of one expert; `add_spread` adds further fields to the summary. The
/// reason of a skipped expert names it.
std::vector<Outcome> expert_outcomes(
    const WorkItem& item, const std::function<Outcome(std::int64_t expert)>& measure,
    const std::function<void(Record&, const std::vector<const Record*>&)>& add_spread = {});

/// The quantile of `sorted` for a share from 0 to 1, rounded down to an element.
template <class T>
T lower_quantile(const std::vector<T>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

}  // namespace attnscope
