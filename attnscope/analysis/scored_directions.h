// Scores of rows along a few directions, of which each direction keeps the highest and the lowest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/inference/linear.h"

namespace attnscope {

/// A score of the row at some place; of the lowest, its negative.
struct PlacedScore {
  std::int64_t place = 0;
  float score = 0;
};

/// The highest scores so far, of rows that come in the order of their places. Of equal ones the
/// first are kept.
class HighestScores {
 public:
  explicit HighestScores(std::size_t most = 0) : most_(most) {}

  /// What later scores must exceed to be kept.
  float add(PlacedScore score);
  /// At most `most`, the highest first.
  std::vector<PlacedScore> sorted() const;

 private:
  void drop_lower();

  std::size_t most_;
  std::vector<PlacedScore> kept_;  // some that are lower, too, which are dropped now and then
  float floor_ = -std::numeric_limits<float>::infinity();
};

/// So many as are multiplied at once.
class ScoredDirections {
 public:
  static constexpr std::int64_t kMost = 48;

  enum class Keep { highest, both };

  /// `directions` (n ≤ kMost, D). The `most` highest scores are kept; of both, also the lowest, and
  /// sums over all scores.
  ScoredDirections(MatrixView<const double> directions, Keep keep, std::size_t most,
                   const Compute& compute);

  std::int64_t count() const { return weights_.outputs(); }

  /// Scores rows (m, D), the first of them at `place`: products in float32. Its digits do not
  /// depend on how many rows come at once.
  void add(std::int64_t place, MatrixView<const float> rows, const Compute& compute);

  // Of one of the directions.
  std::vector<PlacedScore> highest(std::size_t at) const { return highest_[at].sorted(); }
  std::vector<PlacedScore> lowest(std::size_t at) const { return lowest_[at].sorted(); }
  double squares(std::size_t at) const { return squares_[at]; }  // Σ score²
  double cubes(std::size_t at) const { return cubes_[at]; }      // Σ score³

 private:
  using Floors = std::array<float, kMost>;
  using Sums = std::array<double, kMost>;

  void keep(std::int64_t place, const float* scores);

  LinearWeights weights_;
  bool both_;
  std::vector<HighestScores> highest_, lowest_;
  Floors floors_, ceilings_;  // what scores must pass to be kept; never where there is no direction
  Sums squares_ = {}, cubes_ = {};
};

}  // namespace attnscope
