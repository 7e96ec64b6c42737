#include "attnscope/numerics/attention_maps/certified_rank.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/attention_maps/kernels/kernels.h"
#include "attnscope/numerics/kernels/tiles.h"
#include "attnscope/numerics/lapack/lapack.h"
#include "attnscope/numerics/products/gram.h"
#include "attnscope/numerics/svd/kernels/kernels.h"
#include "attnscope/numerics/svd/singular_values.h"
#include "attnscope/numerics/svd/symmetric_eigenvalues.h"

namespace attnscope {
namespace {

using kernels::kSketch;

/// Orthonormalizes the columns of (rows, kSketch). Columns that depend on others become zero.
void orthonormalize_few(std::size_t rows, double* columns) {
  const auto inner = [&](std::size_t a, std::size_t b) {
    double sum = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      sum += columns[row * kSketch + a] * columns[row * kSketch + b];
    }
    return sum;
  };
  constexpr double kDependent = 1e-20;  // relative to the squared length
  for (std::size_t own = 0; own < kSketch; ++own) {
    const double before = inner(own, own);
    // Two passes are enough: Giraud et al. 2005.
    for (int turn = 0; turn < 2; ++turn) {
      for (std::size_t other = 0; other < own; ++other) {
        const double share = inner(own, other);
        for (std::size_t row = 0; row < rows; ++row) {
          columns[row * kSketch + own] -= share * columns[row * kSketch + other];
        }
      }
    }
    const double after = inner(own, own);
    const bool kept = after > kDependent * before && std::isnormal(after);
    const double factor = kept ? 1 / std::sqrt(after) : 0;
    for (std::size_t row = 0; row < rows; ++row) columns[row * kSketch + own] *= factor;
  }
}

using kernels::kTile;

/// Smaller matrices are reduced completely at once.
constexpr std::int64_t kBoundedFrom = 384;

/// Returns how many directions are likely to prove a rank, judged from kSketch directions. 0 if no
/// number would pay off. Tuned on the maps of trained models.
std::size_t promising_width(std::size_t n, const LeadingDirections& few, double threshold) {
  if (few.values.empty()) return 0;
  const double share = few.captured(), allowed = 1 - threshold;
  if (1 - share <= 1.4 * allowed) return kTile;
  // A product with n / 20 columns costs about a tenth of computing all values.
  const std::size_t width = std::clamp<std::size_t>(n / 21 / kTile, 2, 5) * kTile;
  // Later values are below the last one, which is itself too small.
  const double last = few.values.back() / few.energy;
  const double hoped_for = share + 0.6 * static_cast<double>(width) * last;
  const double wanted = std::min(1.0, 1.075 * deciding_share(threshold));
  return share >= 0.6 * threshold && 1 - share <= 4.5 * allowed && hoped_for >= wanted ? width : 0;
}

}  // namespace

double error_of_energies(std::size_t n) {
  const auto order = static_cast<double>(n);
  return 4 * order * order * 0x1p-53;
}

double LeadingDirections::captured() const {
  return std::accumulate(values.begin(), values.end(), 0.0) / energy;
}

std::optional<std::size_t> reached_at(const LeadingDirections& directions, double wanted) {
  double sum = 0;
  for (std::size_t at = 0; at < directions.values.size(); ++at) {
    sum += directions.values[at];
    if (sum > wanted) return at + 1;
  }
  return std::nullopt;
}

double scattered(std::uint64_t index) {
  std::uint64_t bits = (index + 1) * 0x9E3779B97F4A7C15;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return static_cast<double>(static_cast<std::int64_t>(bits ^ (bits >> 31))) * 0x1p-63;
}

std::vector<double> descending_eigenvalues(std::vector<double> lower, std::size_t order) {
  auto values = lapack::symmetric_eigenvalues(static_cast<std::int64_t>(order), lower.data());
  if (!values) return {};
  std::reverse(values->begin(), values->end());
  return std::move(*values);
}

std::vector<double> gram_of_columns(const double* matrix, std::size_t rows, std::size_t width) {
  std::vector<double> out(width * width, 0.0);
  lapack::add_gram(static_cast<std::int64_t>(width), static_cast<std::int64_t>(rows), matrix,
                   lapack::Packing::columns, out.data());
  return out;
}

LeadingDirections sketch(MatrixView<const float> matrix, bool lower, const Compute& compute) {
  const auto rows = static_cast<std::size_t>(matrix.rows);
  const auto cols = static_cast<std::size_t>(matrix.cols);
  std::vector<double> start(cols * kSketch), right(cols * kSketch), left(rows * kSketch);
  std::vector<double> scratch(kernels::kTogether * kernels::gram_scratch(cols));
  for (std::size_t at = 0; at < start.size(); ++at) start[at] = scattered(at);
  const double energy = kernels::multiply_map_gram(compute.kernels, matrix, lower, start.data(),
                                                   scratch.data(), right.data());
  orthonormalize_few(cols, right.data());
  kernels::multiply_map(compute.kernels, matrix, lower, right.data(), left.data());
  return {.energy = energy,
          .values = descending_eigenvalues(gram_of_columns(left.data(), rows, kSketch), kSketch)};
}

std::optional<std::int64_t> rank_by_trace(const LeadingDirections& directions, double threshold,
                                          double error) {
  const double energy = directions.energy;
  const auto count = reached_at(directions, (threshold + error) * energy);
  if (!count) return std::nullopt;
  const double before =
      std::accumulate(directions.values.begin(),
                      directions.values.begin() + static_cast<std::ptrdiff_t>(*count) - 1, 0.0);
  const double rest = energy * (1 - directions.captured());
  if (*count > 1 && before + rest >= (threshold - error) * energy) return std::nullopt;
  return static_cast<std::int64_t>(*count);
}

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
  std::size_t width = 0;  // width of a subspace that is likely to decide
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
  const double scale = std::ldexp(1.0, -exponent);  // a power of two is exact
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
  values.resize(n);  // padding rows of the last tile gave zeros, the smallest values
  for (double& value : values) value = std::ldexp(std::sqrt(std::max(value, 0.0)), exponent);
  return {.values = std::move(values)};
}

namespace {

using kernels::kTile;

/// Orthonormalizes the columns of a row-major (rows, width) matrix to rounding. Returns false if
/// they are too nearly dependent. Uses two Cholesky factorizations, or three with a shift: Fukaya
/// et al. 2020.
bool orthonormalize(std::size_t rows, std::size_t width, double* columns) {
  const auto order = static_cast<std::int64_t>(width);
  const auto divide = [&](const std::vector<double>& factor) {
    lapack::divide_by_cholesky(static_cast<std::int64_t>(rows), order, columns, factor.data());
  };
  std::vector<double> products = gram_of_columns(columns, rows, width);
  std::vector<double> factor = products;
  constexpr double kFarFromDependent = 1e-6;  // its square is far above 2^-53
  const auto far_from_dependent = [&] {
    double least = factor.front(), most = factor.front();
    for (std::size_t at = 0; at < width; ++at) {
      least = std::min(least, factor[at * (width + 1)]);
      most = std::max(most, factor[at * (width + 1)]);
    }
    return least > kFarFromDependent * most;
  };
  if (!lapack::cholesky(order, factor.data()) || !far_from_dependent()) {
    double trace = 0;
    for (std::size_t at = 0; at < width; ++at) trace += products[at * (width + 1)];
    const double shift = 11 * static_cast<double>(rows * width) * 0x1p-53 * trace;
    for (std::size_t at = 0; at < width; ++at) products[at * (width + 1)] += shift;
    if (!lapack::cholesky(order, products.data())) return false;
    divide(products);
    factor = gram_of_columns(columns, rows, width);
    if (!lapack::cholesky(order, factor.data())) return false;
  }
  divide(factor);
  factor = gram_of_columns(columns, rows, width);
  if (!lapack::cholesky(order, factor.data()) || !far_from_dependent()) return false;
  divide(factor);
  return true;
}

/// A subspace of G, its image under G, and a bound on the rest.
struct Subspace {
  std::size_t width = 0;
  LeadingDirections directions;
  std::vector<double> projection;  // Θ
  std::vector<double> coupling;    // C = YᵀY − Θ² = WᵀW, W = Y − QΘ
  double outside = 0;              // upper bound on λ_1 of G on the complement
};

double positive_part(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::max(value, 0.0);
  return sum;
}

/// Returns whether S_count is safely below the threshold. For any t above `outside`, S_m ≤ m t +
/// tr(Θ − t I + C / (t − outside))₊.
bool below_by_coupling(const Subspace& space, std::size_t count, double threshold, double error) {
  const double energy = space.directions.energy;
  for (const std::size_t at : {count, count - 1}) {
    const double t = space.directions.values[at];
    if (t <= space.outside) continue;
    const double gap = t - space.outside;
    std::vector<double> shifted(space.projection);
    for (std::size_t element = 0; element < shifted.size(); ++element) {
      shifted[element] += space.coupling[element] / gap;
    }
    for (std::size_t own = 0; own < space.width; ++own) shifted[own * (space.width + 1)] -= t;
    const std::vector<double> values = descending_eigenvalues(std::move(shifted), space.width);
    if (values.empty()) continue;
    const double bound = static_cast<double>(count) * t + positive_part(values);
    // The division amplifies an error of C.
    if (bound < (threshold - error * (1 + energy / gap)) * energy) return true;
  }
  return false;
}

/// Returns the subspace of an orthonormal row-major q (rows, width), with y = G q.
Subspace subspace_of(const double* q, const double* y, std::size_t rows, std::size_t width,
                     double energy, double squared_norm, double error) {
  Subspace out{.width = width, .directions = {.energy = energy}};
  // QᵀY is symmetric up to rounding.
  out.projection.resize(width * width);
  const auto order = static_cast<std::int64_t>(width), depth = static_cast<std::int64_t>(rows);
  lapack::multiply_transposed({q, order, depth, 1, order}, {y, order, depth, 1, order},
                              {out.projection.data(), order, order, order, 1});
  for (std::size_t row = 0; row < width; ++row) {
    for (std::size_t col = 0; col < row; ++col) {
      double& a = out.projection[row * width + col];
      double& b = out.projection[col * width + row];
      a = b = (a + b) / 2;
    }
  }
  out.coupling = gram_of_columns(y, rows, width);
  const std::vector<double> square = gram_of_columns(out.projection.data(), width, width);
  double trace_of_coupling = 0, projected_norm = 0;
  for (std::size_t at = 0; at < square.size(); ++at) out.coupling[at] -= square[at];
  for (std::size_t own = 0; own < width; ++own) {
    trace_of_coupling += out.coupling[own * (width + 1)];
    projected_norm += square[own * (width + 1)];
  }
  out.directions.values = descending_eigenvalues(out.projection, width);
  // Trace and Frobenius norm of G on the complement.
  const double rest = energy * (1 - out.directions.captured() + error);
  const double squares = squared_norm * (1 + error) - projected_norm - 2 * trace_of_coupling;
  out.outside = std::min(rest, std::sqrt(std::max(squares, 0.0) + error * squared_norm));
  return out;
}

double squared_norm_of(const double* gram, std::size_t tiles) {
  double off_diagonal = 0, diagonal = 0;
  for (std::size_t panel = 0; panel < tiles; ++panel) {
    const double* at = gram + kernels::panel_offset(panel);
    const double* own = at + panel * kernels::kTileSize;
    off_diagonal += std::inner_product(at, own, at, 0.0);
    diagonal += std::inner_product(own, own + kernels::kTileSize, own, 0.0);
  }
  return 2 * off_diagonal + diagonal;
}

/// Multiplies G by a matrix with one ±1 in each row. The result is almost as good as a product with
/// a Gaussian matrix, at the cost of reading G once. Row-major (tiles * kTile, width).
void scattered_columns(const double* gram, std::size_t tiles, std::size_t width, double* out) {
  const std::size_t rows = tiles * kTile;
  std::vector<std::size_t> column(rows);
  std::vector<double> sign(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const double number = scattered(row);
    column[row] = static_cast<std::size_t>(std::abs(number) * static_cast<double>(width)) % width;
    sign[row] = number < 0 ? -1 : 1;
  }
  std::fill(out, out + rows * width, 0.0);
  for (std::size_t panel = 0; panel < tiles; ++panel) {
    const double* element = gram + kernels::panel_offset(panel);
    for (std::size_t col = 0; col < (panel + 1) * kTile; ++col) {
      for (std::size_t row = panel * kTile; row < (panel + 1) * kTile; ++row, ++element) {
        out[row * width + column[col]] += sign[col] * *element;
        // Tiles on the diagonal are stored completely.
        if (col < panel * kTile) out[col * width + column[row]] += sign[row] * *element;
      }
    }
  }
}

}  // namespace

double deciding_share(double threshold) { return threshold + 0.3 * (1 - threshold); }

std::optional<std::int64_t> rank_by_subspace(const double* gram, std::size_t n, double energy,
                                             std::size_t width, double threshold,
                                             const Compute& compute) {
  // Scratch memory of the thread; it does not affect results.
  thread_local AlignedBuffer<double> memory;
  const std::size_t tiles = (n + kTile - 1) / kTile, rows = tiles * kTile;
  double* q = memory.reserve(2 * rows * width);
  double* y = q + rows * width;
  const double error = error_of_energies(n);
  const double squared_norm = squared_norm_of(gram, tiles);
  scattered_columns(gram, tiles, width, y);
  for (int turn = 0; turn < 2; ++turn) {
    compute.check_stop();
    std::swap(q, y);
    if (!orthonormalize(rows, width, q)) return std::nullopt;
    kernels::multiply_symmetric(compute.kernels, gram, tiles, q, width, y);
    const Subspace space = subspace_of(q, y, rows, width, energy, squared_norm, error);
    if (space.directions.values.empty()) return std::nullopt;
    if (const auto rank = rank_by_trace(space.directions, threshold, error)) return rank;
    const auto count = reached_at(space.directions, (threshold + error) * energy);
    if (count && *count < width && below_by_coupling(space, *count - 1, threshold, error)) {
      return static_cast<std::int64_t>(*count);
    }
    // A second product improves the subspace, but hardly reduces the rest.
    if (!count || space.directions.captured() < deciding_share(threshold) ||
        space.directions.values[std::max<std::size_t>(*count, 2) - 2] < 0.75 * space.outside) {
      break;
    }
  }
  return std::nullopt;
}

}  // namespace attnscope
