#include "attnscope/numerics/svd/float32_gram.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/products/gram.h"
#include "attnscope/numerics/products/kernels/kernels.h"
#include "attnscope/numerics/svd/kernels/kernels.h"
#include "attnscope/numerics/svd/symmetric_eigenvalues.h"

namespace attnscope {
namespace {

using kernels::kGroup;
using kernels::kGroupTiles;
using kernels::kTile;
using kernels::kTileSize;

/// Minimum groups of rows per thread.
constexpr std::size_t kGroupsPerPart = 8;
/// Bound on the norm of the error matrix relative to its longest row. Rounding errors of many sums
/// are independent, so the norm is about twice that of the longest row.
constexpr double kNormOfRow = 2.5;
/// Lower limit for the assumed error of a sum of m products, relative to the lengths of both rows
/// and times sqrt(m). It applies if the sampled rows have unusually small errors. Independent signs
/// give two thirds of it.
constexpr double kLeastError = 0x1p-23;
/// Errors that agree between rows by more than this are not independent.
constexpr double kMaxAgreement = 4;
/// A row of A whose squared length, relative to the longest row, is below this has too few digits
/// for the sample.
constexpr double kLeastSampledShare = 1e-4;
/// Maximum error of a singular value, relative to σ_1.
constexpr double kMaxError = 5e-7;

/// The Gram matrix of A times scale², and its first column of tiles in float64.
struct SampledGram {
  std::size_t tiles = 0;
  double* triangle = nullptr;
  double* samples = nullptr;  // (tiles, kTileSize)
};

SampledGram sampled_gram(const ColumnSource<float>& a, float scale, const Compute& compute) {
  // Scratch memory of the thread; it does not affect results.
  thread_local AlignedBuffer<float> packed_memory;
  thread_local AlignedBuffer<double> sample_memory;
  const auto n = static_cast<std::size_t>(a.rows()), columns = static_cast<std::size_t>(a.cols());
  const std::size_t groups = (n + kGroup - 1) / kGroup;
  const std::size_t parts = (groups + kGroupsPerPart - 1) / kGroupsPerPart;
  SampledGram gram{.tiles = (n + kTile - 1) / kTile};
  const std::size_t samples = groups * kGroupTiles * kTileSize;
  float* packed = packed_memory.reserve(groups * kGroup * kernels::kGramDepth);
  gram.triangle = zero_triangle(gram.tiles);
  gram.samples = sample_memory.reserve(samples);
  std::fill(gram.samples, gram.samples + samples, 0.0);
  for (std::size_t first = 0; first < columns; first += kernels::kGramDepth) {
    constexpr std::size_t kStep = kernels::kFloat32Chain;
    const std::size_t count = std::min(kernels::kGramDepth, columns - first);
    const std::size_t depth = (count + kStep - 1) / kStep * kStep;
    const auto block =
        a.columns(static_cast<std::int64_t>(first), static_cast<std::int64_t>(count));
    run_parts(compute, parts, [&](std::size_t part) {
      const std::size_t start = part * kGroupsPerPart;
      for (std::size_t group = start; group < std::min(start + kGroupsPerPart, groups); ++group) {
        kernels::pack_float32_group(compute.kernels, block, scale, group, depth,
                                    packed + group * kGroup * depth);
      }
    });
    run_parts(compute, parts, [&](std::size_t part) {
      const std::size_t start = (parts - 1 - part) * kGroupsPerPart;  // longest first
      const std::size_t end = std::min(start + kGroupsPerPart, groups);
      kernels::add_float32_products(compute.kernels, packed, depth, gram.tiles, start, end,
                                    gram.triangle);
      kernels::add_float32_samples(compute.kernels, packed, depth, start, end, gram.samples);
    });
  }
  return gram;
}

/// Returns a bound on the norm of the Gram matrix's error, of which the sample has some columns.
/// Infinite if the sample is not informative. A is (n, m).
double error_bound(const SampledGram& gram, std::size_t n, std::size_t m) {
  double largest_square = 0, energy = 0;  // largest squared row norm of A; sum of all
  for (std::size_t row = 0; row < n; ++row) {
    const std::size_t tile = row / kTile, at = row % kTile;
    const double square =
        gram.triangle[kernels::panel_offset(tile) + tile * kTileSize + at * (kTile + 1)];
    largest_square = std::max(largest_square, square);
    energy += square;
  }
  // Inner products of the error's columns give their lengths and their agreement.
  double products[kTileSize] = {};
  for (std::size_t tile = 0; tile < gram.tiles; ++tile) {
    const double* found = gram.triangle + kernels::panel_offset(tile);
    const double* exact = gram.samples + tile * kTileSize;
    for (std::size_t row = 0; row < kTile; ++row) {
      double errors[kTile];
      for (std::size_t col = 0; col < kTile; ++col) {
        errors[col] = found[col * kTile + row] - exact[col * kTile + row];
      }
      for (std::size_t col = 0; col < kTile; ++col) {
        for (std::size_t other = 0; other < kTile; ++other) {
          products[col * kTile + other] += errors[col] * errors[other];
        }
      }
    }
  }
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  // Largest squared length of an error column relative to ‖row of A‖².
  double largest_share = kLeastError * kLeastError / static_cast<double>(m) * energy;
  double longest = 0, agreement = 0;
  for (std::size_t col = 0; col < std::min(kTile, n); ++col) {
    const double square = gram.samples[col * (kTile + 1)];
    if (square < kLeastSampledShare * largest_square) return kUnknown;
    largest_share = std::max(largest_share, products[col * (kTile + 1)] / square);
    longest = std::max(longest, products[col * (kTile + 1)]);
    double sum = 0;
    for (std::size_t other = 0; other < kTile; ++other) {
      sum += std::abs(products[col * kTile + other]);
    }
    agreement = std::max(agreement, sum);
  }
  if (agreement > kMaxAgreement * longest) return kUnknown;
  return kNormOfRow * std::sqrt(largest_share * largest_square);
}

}  // namespace

bool worth_float32_gram(std::int64_t rows, std::int64_t cols) {
  const auto [shorter, longer] = std::minmax(rows, cols);
  return shorter >= 384 && 2 * longer >= 3 * shorter;
}

std::optional<std::vector<double>> float32_gram_singular_values(MatrixView<const float> matrix,
                                                                const Compute& compute) {
  const MatrixView<const float> a = matrix.rows <= matrix.cols ? matrix : matrix.transposed();
  return float32_gram_singular_values(ColumnSource<float>(a), largest_magnitude(a, compute),
                                      compute);
}

std::optional<std::vector<double>> float32_gram_singular_values(const ColumnSource<float>& a,
                                                                double largest,
                                                                const Compute& compute) {
  const auto n = static_cast<std::size_t>(a.rows());
  const int exponent = scale_exponent(largest);
  if (exponent < -125 || exponent > 126)
    return std::nullopt;  // 2^-exponent must be a normal float32
  const SampledGram gram = sampled_gram(a, std::ldexp(1.0F, -exponent), compute);
  const double bound = error_bound(gram, n, static_cast<std::size_t>(a.cols()));
  if (!std::isfinite(bound)) return std::nullopt;
  std::vector<double> squares = tiled_eigenvalues(gram.tiles, gram.triangle, compute);
  std::reverse(squares.begin(), squares.end());
  squares.resize(n);  // padding rows of the last tile gave zeros, the smallest values
  if (!(bound * bound <= 4 * kMaxError * kMaxError * squares.front() * squares.back())) {
    return std::nullopt;
  }
  for (double& value : squares) value = std::ldexp(std::sqrt(std::max(value, 0.0)), exponent);
  return squares;
}

}  // namespace attnscope
