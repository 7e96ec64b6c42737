// Which experts of a layer a command looks at, and what is said of them together.
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

/// Single experts and ranges of them, all, or a sample of each layer's.
struct ExpertSelection {
  /// How many a sample has at most: every n-th.
  static constexpr std::int64_t kSample = 8;

  std::string text;  // "0-7,12", "all"; empty: a sample

  /// Ascending, each once. Throws Error(usage) for a text that is no such list, and for an expert
  /// that there is not; the error names the model.
  std::vector<std::int64_t> resolve(std::int64_t experts, std::string_view model) const;
};

/// The same as add_layers(), but that the MLP's roles of a layer with experts are those of the
/// chosen experts. A note names a sample.
void add_layers_and_experts(Plan& plan, std::span<const Model> models,
                            std::span<const std::vector<Role>> roles, const LayerSelection& layers,
                            const ExpertSelection& experts, RowSink& notes);

/// What is measured of each expert that an item names, each with the field `expert`; and of all
/// together `experts`, their number, and each number's median, of two middle ones the lower.
/// `measure` gives the fields of one expert, `add_spread` more of all. A skipped expert's reason
/// names it.
std::vector<Outcome> expert_outcomes(
    const WorkItem& item, const std::function<Outcome(std::int64_t expert)>& measure,
    const std::function<void(Record&, const std::vector<const Record*>&)>& add_spread = {});

/// The number of `sorted` that a share of them lies below, 0 to 1: of two the lower.
template <class T>
T lower_quantile(const std::vector<T>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

}  // namespace attnscope
