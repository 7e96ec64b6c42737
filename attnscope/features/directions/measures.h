// Top tokens of directions, and the test whether a list of tokens is above chance. Definitions:
// docs/metrics.md, "Directions".
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
  double score = 0, cosine = 0;  // along the signed direction
};

/// The top tokens of a direction for one sign.
struct SignedDirection {
  std::vector<NamedToken> tokens;  // highest score first
  double coherence = 0;            // mean pairwise cosine of the ten top tokens
  std::optional<double> rarity;    // correlation of scores with rarity; empty if unknown
};

struct NamedDirection {
  std::array<SignedDirection, 2> signs;  // +, −
  double skewness = 0;  // Σ score³ over all tokens: positive if + has the longer tail
};

struct NamedDirections {
  std::vector<NamedDirection> directions;
  double random_coherence = 0;  // 99% quantile over random directions
};

/// Number of tokens in the coherence, and number of random directions in its baseline.
inline constexpr std::int64_t kCoherentTokens = 10, kRandomDirections = 1000;

/// Isotropic random directions (kRandomDirections, D), always the same.
Matrix<double> random_directions(std::int64_t width);

struct CandidateRequest {
  MatrixView<const double> directions;  // (n, D), unit rows
  MatrixView<const double> random;      // random_directions(D)
  std::int64_t top = 10;                // number of top tokens per sign
  std::int64_t max_rows_in_memory = 0;  // maximum number of rows; see CandidateRows
};

/// Computes the top tokens of directions. The rows of the candidate tokens are centered, and the
/// direction along which scores follow rarity is removed. Scores are float32 sums, except those of
/// listed tokens, which are float64.
NamedDirections name_directions(const CandidateTokens& tokens, const RowsOfTokens& rows,
                                const CandidateRequest& request, const Compute& compute);

// Scores of rows along a few directions. Keeps the highest and the lowest scores per direction.

/// A score and the index of its row; for the lowest scores, the negated score.
struct PositionedScore {
  std::int64_t place = 0;
  float score = 0;
};

/// The highest scores so far, of rows added in index order. Of equal scores the first ones are
/// kept.
class HighestScores {
 public:
  explicit HighestScores(std::size_t most = 0) : most_(most) {}

  /// Later scores must exceed this to be kept.
  float add(PositionedScore score);
  /// At most `most` scores, highest first.
  std::vector<PositionedScore> sorted() const;

 private:
  void drop_lower();

  std::size_t most_;
  std::vector<PositionedScore>
      kept_;  // also contains lower scores, which are dropped from time to time
  float floor_ = -std::numeric_limits<float>::infinity();
};

/// Number of directions that are multiplied at the same time.
class ScoredDirections {
 public:
  static constexpr std::int64_t kMost = 48;

  enum class Keep { highest, both };

  /// `directions` (n ≤ kMost, D). Keeps the `most` highest scores. Keep::both: also the lowest, and
  /// sums over all scores.
  ScoredDirections(MatrixView<const double> directions, Keep keep, std::size_t most,
                   const Compute& compute);

  std::int64_t count() const { return weights_.outputs(); }

  /// Scores rows (m, D), the first of which has index `place`, in float32. Results do not depend on
  /// how many rows are added at a time.
  void add(std::int64_t place, MatrixView<const float> rows, const Compute& compute);

  // Results of one direction.
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
  Floors floors_, ceilings_;  // minimum scores to be kept; infinite for unused slots
  Sums squares_ = {}, cubes_ = {};
};

}  // namespace attnscope
