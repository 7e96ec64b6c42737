#include "attnscope/features/attention/layer_means.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attnscope {
namespace {

std::vector<std::int64_t> most_frequent(const std::map<std::int64_t, std::int64_t>& times,
                                        const MeanWithError& columns) {
  std::vector<std::pair<std::int64_t, std::int64_t>> order(times.begin(), times.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  const double wanted =
      std::clamp(std::round(columns.mean.value_or(0)), 1.0, static_cast<double>(kTopColumns));
  std::vector<std::int64_t> out;
  for (const auto& column : order) {
    if (std::ssize(out) < static_cast<std::int64_t>(wanted)) out.push_back(column.first);
  }
  return out;
}

}  // namespace

void LayerSums::add(std::span<const AttentionMapMeasures> sequence) {
  double max_rank = 0, columns = 0;
  for (std::size_t index = 0; index < sequence.size(); ++index) {
    const AttentionMapMeasures& map = sequence[index];
    Head& head = heads_[index];
    for (std::size_t at = 0; at < head.means.size(); ++at) head.means[at].add(map.values[at]);
    for (const std::int64_t column : map.top_columns) ++head.times[column];
    max_rank = std::max(max_rank, map.value("energy_rank").value());
    columns += map.value("energy_columns").value();
  }
  if (sequence.empty()) return;
  max_rank_.add(max_rank);
  mean_columns_.add(columns / static_cast<double>(sequence.size()));
}

LayerMeans LayerSums::means() const {
  LayerMeans out{.mean_max_rank = max_rank_.result(),
                 .mean_energy_columns = mean_columns_.result()};
  for (const Head& head : heads_) {
    HeadMeans& of_head = out.heads.emplace_back();
    for (const RunningMean& mean : head.means) of_head.means.push_back(mean.result());
    of_head.top_columns = most_frequent(head.times, of_head.of("energy_columns"));
    if (const auto rank = of_head.of("energy_rank").mean) {
      out.max_rank = std::max(out.max_rank.value_or(0), *rank);
    }
  }
  if (out.mean_max_rank.mean) {
    out.collapsed = collapsed(*out.mean_max_rank.mean, *out.mean_energy_columns.mean);
  }
  return out;
}

bool collapsed(double mean_max_rank, double mean_energy_columns) {
  return mean_max_rank < kCollapsedRank && mean_energy_columns < kCollapsedColumns;
}

}  // namespace attnscope
