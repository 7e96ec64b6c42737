#include "attnscope/analysis/attention_means.h"

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

void RunningMean::add(std::optional<double> value) {
  if (!value) return;
  ++count_;
  sum_ += *value;
  const double before = *value - mean_;
  mean_ += before / static_cast<double>(count_);
  squares_ += before * (*value - mean_);
}

MeanWithError RunningMean::result() const {
  MeanWithError out;
  if (count_ == 0) return out;
  const auto count = static_cast<double>(count_);
  out.mean = sum_ / count;
  if (count_ > 1) out.standard_error = std::sqrt(squares_ / (count - 1) / count);
  return out;
}

void LayerSums::add(std::span<const AttentionMapMeasures> sequence) {
  double max_rank = 0, columns = 0;
  for (std::size_t index = 0; index < sequence.size(); ++index) {
    const AttentionMapMeasures& map = sequence[index];
    Head& head = heads_[index];
    head.energy_rank.add(static_cast<double>(map.energy_rank));
    head.columns.add(static_cast<double>(map.columns));
    head.first_column_share.add(map.first_column_share);
    head.entropy.add(map.entropy);
    head.sink_mass.add(map.sink_mass);
    head.previous_token.add(map.previous_token);
    head.diagonal.add(map.diagonal);
    head.distance.add(map.distance);
    for (const std::int64_t column : map.top_columns) ++head.times[column];
    max_rank = std::max(max_rank, static_cast<double>(map.energy_rank));
    columns += static_cast<double>(map.columns);
  }
  if (sequence.empty()) return;
  max_rank_.add(max_rank);
  mean_columns_.add(columns / static_cast<double>(sequence.size()));
}

LayerMeans LayerSums::means() const {
  LayerMeans out{.mean_max_rank = max_rank_.result(), .mean_columns = mean_columns_.result()};
  for (const Head& head : heads_) {
    HeadMeans& means = out.heads.emplace_back(HeadMeans{
        .energy_rank = head.energy_rank.result(),
        .columns = head.columns.result(),
        .first_column_share = head.first_column_share.result(),
        .entropy = head.entropy.result(),
        .sink_mass = head.sink_mass.result(),
        .previous_token = head.previous_token.result(),
        .diagonal = head.diagonal.result(),
        .distance = head.distance.result(),
    });
    means.top_columns = most_frequent(head.times, means.columns);
    if (means.energy_rank.mean) {
      out.max_rank = std::max(out.max_rank.value_or(0), *means.energy_rank.mean);
    }
  }
  if (out.mean_max_rank.mean) {
    out.collapsed = collapsed(*out.mean_max_rank.mean, *out.mean_columns.mean);
  }
  return out;
}

bool collapsed(double mean_max_rank, double mean_columns) {
  return mean_max_rank < kCollapsedRank && mean_columns < kCollapsedColumns;
}

}  // namespace attnscope
