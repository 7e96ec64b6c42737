#include "attnscope/numerics/attention_maps/certified_rank.h"

#include <algorithm>
#include <cmath>

#include "attnscope/numerics/attention_maps/leading_directions.h"
#include "attnscope/numerics/attention_maps/subspace_rank.h"
#include "attnscope/numerics/kernels/tiles.h"
#include "attnscope/numerics/products/gram.h"
#include "attnscope/numerics/singular_values/kernels/batched_tridiagonal.h"
#include "attnscope/numerics/singular_values/singular_values.h"
#include "attnscope/numerics/singular_values/symmetric_eigenvalues.h"

namespace attnscope {
namespace {

using kernels::kTile;

/// Smaller matrices are reduced as soon as they are looked at.
constexpr std::int64_t kBoundedFrom = 384;

/// How many directions are likely to prove a rank, 0 where none would be worth their time, from
/// what kSketch of them say. Tried on the maps of trained models.
std::size_t promising_width(std::size_t n, const LeadingDirections& few, double threshold) {
  if (few.values.empty()) return 0;
  const double share = few.captured(), allowed = 1 - threshold;
  if (1 - share <= 1.4 * allowed) return kTile;
  // A product with a twentieth of n columns costs about a tenth of all values.
  const std::size_t width = std::clamp<std::size_t>(n / 21 / kTile, 2, 5) * kTile;
  // The values that follow lie below the last, which is itself too small yet.
  const double last = few.values.back() / few.energy;
  const double hoped_for = share + 0.6 * static_cast<double>(width) * last;
  const double wanted = std::min(1.0, 1.075 * deciding_share(threshold));
  return share >= 0.6 * threshold && 1 - share <= 4.5 * allowed && hoped_for >= wanted ? width : 0;
}

}  // namespace

RankOrValues energy_rank_or_values(MatrixView<const float> matrix, double threshold,
                                   const Compute& compute) {
  const auto n = static_cast<std::size_t>(matrix.rows);
  if (!compute.kernels.available()) {
    return {.values = plain_singular_values(matrix, compute).values};
  }
  const kernels::Extents extents = kernels::extents(compute.kernels, matrix);
  const double largest = std::max(extents.below, extents.above);
  if (largest == 0) return {.rank = 0};
  const bool lower = extents.above == 0;
  std::size_t width = 0;  // of a subspace that is likely to decide
  double energy = 0;
  if (matrix.rows >= kBoundedFrom) {
    const LeadingDirections first = sketch(matrix, lower, compute);
    if (const auto rank = rank_by_trace(first, threshold, error_of_energies(n))) {
      return {.rank = rank};
    }
    energy = first.energy;
    width = promising_width(n, first, threshold);
  }
  compute.check_stop();
  const int exponent = scale_exponent(largest);
  const double scale = std::ldexp(1.0, -exponent);  // a power of two changes no digit
  double* gram = gram_tiles(ColumnSource<float>(matrix), scale, compute, lower);
  if (width > 0) {
    if (const auto rank =
            rank_by_subspace(gram, n, energy * scale * scale, width, threshold, compute)) {
      return {.rank = rank};
    }
  }
  const std::size_t tiles = (n + kTile - 1) / kTile;
  std::vector<double> values = tiled_eigenvalues(tiles, gram, compute);
  std::reverse(values.begin(), values.end());
  values.resize(n);  // the rows that fill the last tile gave zeros, which are the least
  for (double& value : values) value = std::ldexp(std::sqrt(std::max(value, 0.0)), exponent);
  return {.values = std::move(values)};
}

}  // namespace attnscope
