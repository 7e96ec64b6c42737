// Which tokens name a direction of the stream, and when a list of tokens means something.
// Definitions: docs/metrics.md, "Reading directions".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/analysis/naming_rows.h"
#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

struct NamedToken {
  std::int64_t id = 0;
  double score = 0, cosine = 0;  // along the pole
};

/// The tokens that score highest along one way of a direction.
struct NamedPole {
  std::vector<NamedToken> tokens;  // the highest first
  double coherence = 0;            // mean cosine of any two of the first ten
  std::optional<double> rarity;    // correlation of scores with rarity; none where it is not known
};

struct NamedDirection {
  std::array<NamedPole, 2> poles;  // +, −
  double skewness = 0;  // Σ score³ over all tokens: positive where + has the longer tail
};

struct NamedDirections {
  std::vector<NamedDirection> directions;
  double null_coherence = 0;  // 99 % quantile over random directions
};

/// How many tokens coherence is of, and how many random directions its null is of.
inline constexpr std::int64_t kCoherentTokens = 10, kRandomDirections = 1000;

/// (kRandomDirections, D), of no direction more than another; always the same.
Matrix<double> random_directions(std::int64_t width);

struct NamingRequest {
  MatrixView<const double> directions;  // (n, D), unit rows
  MatrixView<const double> random;      // random_directions(D)
  std::int64_t top = 10;                // tokens of each pole
  std::int64_t most_held = 0;           // rows of the basis; see NamingRows
};

/// Names of directions by a basis whose rows lose their mean over the named tokens, and the one
/// direction along which scores follow rarity. Scores are sums in float32 but of the tokens that
/// name, which are float64.
NamedDirections name_directions(const NamingTokens& tokens, const RowsOfTokens& rows,
                                const NamingRequest& request, const Compute& compute);

}  // namespace attnscope
