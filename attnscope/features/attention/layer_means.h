// Means of attention measures over many sequences, with standard errors, and the collapse of
// layers. Definitions: docs/metrics.md.
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

/// One head, over sequences.
struct HeadMeans {
  std::vector<MeanWithError> means;  // in the order of map_measures()
  /// The columns that are in the top_columns of most sequences, most frequent first, ties by
  /// position. Their number is the rounded mean of "energy_columns", at least 1 and at most
  /// kTopColumns.
  std::vector<std::int64_t> top_columns;

  /// Throws std::out_of_range if no measure has this name.
  const MeanWithError& of(std::string_view measure) const {
    return means.at(map_measure_index(measure));
  }
};

/// One layer, over sequences.
struct LayerMeans {
  std::vector<HeadMeans> heads;
  /// Largest of the heads' mean ranks; empty without sequences.
  std::optional<double> max_rank;
  /// Mean over sequences of the largest rank of any head: MaxRank in arXiv 2404.08634.
  MeanWithError mean_max_rank;
  MeanWithError mean_energy_columns;  // mean over sequences of the mean over heads
  bool collapsed = false;             // see collapsed()
};

/// Accumulates the sequences of one layer one by one. The same order gives identical results.
class LayerSums {
 public:
  explicit LayerSums(std::size_t heads) : heads_(heads) {}

  /// Adds the measures of one sequence's maps, one per head.
  void add(std::span<const AttentionMapMeasures> sequence);

  LayerMeans means() const;

 private:
  struct Head {
    std::vector<RunningMean> means{map_measures().size()};
    std::map<std::int64_t, std::int64_t>
        times;  // number of sequences with this column in top_columns, by column
  };

  std::vector<Head> heads_;
  RunningMean max_rank_, mean_columns_;
};

/// A layer counts as collapsed below these limits: fewer than two directions in its highest-rank
/// head, and fewer than two columns in the mean over its heads. arXiv 2404.08634 describes such
/// maps as "near rank-one, single-column" without numbers. In its figures the collapsed layers of
/// GPT-2 lie between 1 and 2, others between 4 and 30.
inline constexpr double kCollapsedRank = 2, kCollapsedColumns = 2;
/// The share of the energy for which these limits are defined.
inline constexpr double kCollapsedEnergy = 0.9;
/// The minimum number of keys for judging a collapse. With fewer keys, maps of random scores fall
/// below both limits, and uniform attention lies on them: docs/metrics.md, "Collapse".
inline constexpr std::int64_t kCollapsedKeys = 16;

/// Whether a layer has collapsed, from mean_max_rank and mean_energy_columns at an energy of 0.9.
bool collapsed(double mean_max_rank, double mean_energy_columns);

}  // namespace attnscope
