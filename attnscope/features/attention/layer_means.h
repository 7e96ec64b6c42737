// Measures of attention maps over many sequences: means with their errors, what layers say, and
// where they have collapsed. Definitions: docs/metrics.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attnscope/features/attention/measures.h"
#include "attnscope/numerics/statistics/running_mean.h"

namespace attnscope {

/// One head over sequences.
struct HeadMeans {
  std::vector<MeanWithError> means;  // of map_measures(), in their order
  /// The columns that were among most sequences' top_columns, most often first, equally frequent
  /// ones by place: as many as the mean of "energy_columns" to the nearest, at least 1 and at most
  /// kTopColumns.
  std::vector<std::int64_t> top_columns;

  /// Throws std::out_of_range where no measure has this name.
  const MeanWithError& of(std::string_view measure) const {
    return means.at(map_measure_index(measure));
  }
};

/// One layer over sequences.
struct LayerMeans {
  std::vector<HeadMeans> heads;
  /// Largest of the heads' mean ranks; none without sequences.
  std::optional<double> max_rank;
  /// Of each sequence's largest rank: what arXiv 2404.08634 calls MaxRank.
  MeanWithError mean_max_rank;
  MeanWithError mean_energy_columns;  // of each sequence's mean over heads
  bool collapsed = false;             // see collapsed()
};

/// Takes the sequences of one layer one after the other; the same order gives the same digits.
class LayerSums {
 public:
  explicit LayerSums(std::size_t heads) : heads_(heads) {}

  /// The measures of one sequence's maps, one for each head.
  void add(std::span<const AttentionMapMeasures> sequence);

  LayerMeans means() const;

 private:
  struct Head {
    std::vector<RunningMean> means{map_measures().size()};
    std::map<std::int64_t, std::int64_t> times;  // in top_columns, by column
  };

  std::vector<Head> heads_;
  RunningMean max_rank_, mean_columns_;
};

/// Below these a layer counts as collapsed: fewer than two directions in its richest head, and
/// fewer than two columns in the mean over its heads. arXiv 2404.08634 calls maps that are "near
/// rank-one, single-column" so and names no numbers; in its figures the collapsed layers of GPT-2
/// lie between 1 and 2, others at 4 to 30.
inline constexpr double kCollapsedRank = 2, kCollapsedColumns = 2;
/// The share of the energy at which those limits are meant.
inline constexpr double kCollapsedEnergy = 0.9;
/// The fewest keys of which it can be said. With fewer, maps of random scores fall below both cuts,
/// and even attention lies at them: docs/metrics.md, "Collapse".
inline constexpr std::int64_t kCollapsedKeys = 16;

/// Whether a layer has collapsed, from its mean_max_rank and mean_energy_columns at an energy of
/// 0.9.
bool collapsed(double mean_max_rank, double mean_energy_columns);

}  // namespace attnscope
