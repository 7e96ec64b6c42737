// Which tokens name a direction of the stream, and when a list of tokens means something.
// Definitions: docs/metrics.md, "Directions".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/features/directions/vocabulary_rows.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/inference/linear.h"

namespace attnscope {

struct NamedToken {
  std::int64_t id = 0;
  double score = 0, cosine = 0;  // along the pole
};

/// The tokens that score highest along one way of a direction.
struct SignedDirection {
  std::vector<NamedToken> tokens;  // the highest first
  double coherence = 0;            // mean cosine of any two of the first ten
  std::optional<double> rarity;    // correlation of scores with rarity; none where it is not known
};

struct NamedDirection {
  std::array<SignedDirection, 2> signs;  // +, −
  double skewness = 0;  // Σ score³ over all tokens: positive where + has the longer tail
};

struct NamedDirections {
  std::vector<NamedDirection> directions;
  double random_coherence = 0;  // 99 % quantile over random directions
};

/// How many tokens coherence is of, and how many random directions its null is of.
inline constexpr std::int64_t kCoherentTokens = 10, kRandomDirections = 1000;

/// (kRandomDirections, D), of no direction more than another; always the same.
Matrix<double> random_directions(std::int64_t width);

struct CandidateRequest {
  MatrixView<const double> directions;  // (n, D), unit rows
  MatrixView<const double> random;      // random_directions(D)
  std::int64_t top = 10;                // tokens of each pole
  std::int64_t max_rows_in_memory = 0;  // rows of the basis; see CandidateRows
};

/// Names of directions by a basis whose rows lose their mean over the named tokens, and the one
/// direction along which scores follow rarity. Scores are sums in float32 but of the tokens that
/// name, which are float64.
NamedDirections name_directions(const CandidateTokens& tokens, const RowsOfTokens& rows,
                                const CandidateRequest& request, const Compute& compute);

// Scores of rows along a few directions, of which each direction keeps the highest and the lowest.

/// A score of the row at some place; of the lowest, its negative.
struct PositionedScore {
  std::int64_t place = 0;
  float score = 0;
};

/// The highest scores so far, of rows that come in the order of their places. Of equal ones the
/// first are kept.
class HighestScores {
 public:
  explicit HighestScores(std::size_t most = 0) : most_(most) {}

  /// What later scores must exceed to be kept.
  float add(PositionedScore score);
  /// At most `most`, the highest first.
  std::vector<PositionedScore> sorted() const;

 private:
  void drop_lower();

  std::size_t most_;
  std::vector<PositionedScore> kept_;  // some that are lower, too, which are dropped now and then
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
  std::vector<PositionedScore> highest(std::size_t at) const { return highest_[at].sorted(); }
  std::vector<PositionedScore> lowest(std::size_t at) const { return lowest_[at].sorted(); }
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
