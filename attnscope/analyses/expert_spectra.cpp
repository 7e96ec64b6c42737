#include "attnscope/analyses/expert_spectra.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attnscope/analyses/estimates.h"
#include "attnscope/analyses/expert_selection.h"
#include "attnscope/analyses/weight_spectrum.h"

namespace attnscope {

void add_rank_spread(Record& fields, const std::vector<const Record*>& experts) {
  constexpr std::array<std::pair<const char*, double>, 4> kShares = {
      {{"least_energy_rank", 0},
       {"lower_quartile_energy_rank", 0.25},
       {"upper_quartile_energy_rank", 0.75},
       {"most_energy_rank", 1}}};
  for (const auto& [name, share] : kShares) {
    Record by_threshold;
    for (const auto& entry : expect<Record>(*experts.front(), "energy_rank").fields()) {
      std::vector<std::int64_t> ranks;
      for (const Record* expert : experts) {
        const Record& own = expect<Record>(*expert, "energy_rank");
        ranks.push_back(expect<std::int64_t>(own, entry.first));
      }
      std::sort(ranks.begin(), ranks.end());
      by_threshold.add(entry.first, lower_quantile(ranks, share));
    }
    fields.add(name, std::move(by_threshold));
  }
}

Cost expert_spectra_cost(const WorkItem& item, const Model& model) {
  Cost cost;
  for (const std::int64_t expert : item.experts) {
    const Weight weight = model.expert_weight(*item.layer, expert, *item.role);
    cost.flops += spectrum_flops(static_cast<double>(weight.matrix.rows),
                                 static_cast<double>(weight.matrix.cols));
    cost.memory_bytes = std::max(cost.memory_bytes, weight_spectrum_bytes(weight.matrix));
  }
  return cost;
}

}  // namespace attnscope
