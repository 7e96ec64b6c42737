// Which tokens name a direction of the stream, and when a list of tokens means something.
// Definitions: docs/metrics.md, "Reading directions".
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Tokens that may name a direction, and how rare each is.
struct NamingTokens {
  std::vector<std::int64_t> ids;  // those that training saw, ascending
  /// Of each, centred, of unit length: the cosine of its output row with those of tokens that no
  /// text has. Empty where no such tokens are known: then nothing is taken out.
  std::vector<double> rarity;
};

/// The basis of named tokens: gives rows (ids, D) of any of them.
using RowsOfTokens = std::function<Matrix<float>(std::span<const std::int64_t> ids)>;

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

/// Names of `directions` (n, D), unit rows, by a basis whose rows lose their mean over the named
/// tokens, and the one direction along which scores follow rarity. `top`: tokens of each pole.
NamedDirections name_directions(const NamingTokens& tokens, const RowsOfTokens& rows,
                                MatrixView<const double> directions, std::int64_t top,
                                const Compute& compute);

}  // namespace attnscope
