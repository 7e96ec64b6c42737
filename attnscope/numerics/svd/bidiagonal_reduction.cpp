#include "attnscope/numerics/svd/bidiagonal_reduction.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/products/kernels/kernels.h"
#include "attnscope/numerics/svd/kernels/kernels.h"
#include "attnscope/numerics/svd/tridiagonal_eigenvalues.h"

namespace attnscope {
namespace {

using kernels::BidiagonalReduction;
using kernels::kSide;
using kernels::kSideSize;

/// Sweeps of the bulge chase between two checks of the stop token.
constexpr std::size_t kBidiagonalSweeps = 8 * kernels::kSweeps;

/// Prepares the state for a matrix of this shape, in reused memory.
BidiagonalReduction prepare_reduction(std::size_t rows, std::size_t columns) {
  // Scratch memory of the thread; it does not affect results.
  thread_local AlignedBuffer<float> floats;
  thread_local AlignedBuffer<double> doubles;
  const std::size_t row_panels = (rows + kSide - 1) / kSide;
  const std::size_t column_tiles = (columns + kSide - 1) / kSide;
  const std::size_t tall = row_panels * kSideSize, wide = column_tiles * kSideSize;
  const std::size_t band = (column_tiles * kSide + kernels::kUpperMargin) * kernels::kUpperStep;
  constexpr std::size_t kFetchedBeyond = 8 * kSideSize;  // sweeps prefetch beyond the last array
  float* next_float = floats.reserve(row_panels * wide + 3 * tall + 3 * wide + kFetchedBeyond);
  double* next_double = doubles.reserve(tall + 4 * wide + band);
  const auto take_floats = [&](std::size_t count) {
    return std::exchange(next_float, next_float + count);
  };
  const auto take_doubles = [&](std::size_t count) {
    return std::exchange(next_double, next_double + count);
  };
  BidiagonalReduction work{.row_panels = row_panels, .column_tiles = column_tiles};
  work.matrix = take_floats(row_panels * wide);
  work.v_rows = take_floats(tall);
  work.left = take_floats(2 * tall);
  work.u_rows = take_floats(wide);
  work.right = take_floats(2 * wide);
  work.v = take_doubles(tall);
  work.y = take_doubles(wide);
  work.w = take_doubles(wide);
  work.u = take_doubles(wide);
  work.scaled_u = take_doubles(wide);
  work.band = take_doubles(band);
  std::fill(work.band, work.band + band, 0.0);
  return work;
}

void reduce_to_band(BidiagonalReduction& work, const Compute& compute) {
  for (std::size_t step = 0; step < work.column_tiles; ++step) {
    compute.check_stop();
    kernels::factor_columns(compute.kernels, work, step);
    if (step + 1 == work.column_tiles) break;
    run_parts(compute, kernels::column_parts(work, step),
              [&](std::size_t part) { kernels::sweep_columns(compute.kernels, work, step, part); });
    kernels::factor_rows(compute.kernels, work, step);
    run_parts(compute, kernels::row_parts(work, step),
              [&](std::size_t part) { kernels::sweep_rows(compute.kernels, work, step, part); });
  }
}

/// Returns the eigenvalues of BᵀB, descending, for the bidiagonal B to which the band is reduced.
/// The error of an eigenvalue is a small multiple of 2^-50 of the largest. The error of a σ is at
/// most the square root of that.
std::vector<double> squared_values(const BidiagonalReduction& work, const Compute& compute) {
  const std::size_t n = work.column_tiles * kSide;
  std::vector<double> diagonal(n), off_diagonal(n, 0.0);
  const std::size_t sweeps = n - 1;
  for (std::size_t first = 0; first < sweeps; first += kBidiagonalSweeps) {
    compute.check_stop();
    kernels::chase_upper_band(compute.kernels, work.band, n, first,
                              std::min(first + kBidiagonalSweeps, sweeps));
  }
  for (std::size_t row = 0; row < n; ++row) {
    diagonal[row] = work.band[row * kernels::kUpperStep + kernels::kUpperDiagonal];
    if (row + 1 == n) break;
    off_diagonal[row] = work.band[(row + 1) * kernels::kUpperStep + kernels::kUpperDiagonal - 1];
  }
  double above = 0;
  for (std::size_t at = 0; at < n; ++at) {
    const double here = diagonal[at], right = off_diagonal[at];
    diagonal[at] = here * here + above * above;
    off_diagonal[at] = here * right;
    above = right;
  }
  off_diagonal.pop_back();
  std::vector<double> squares = tridiagonal_eigenvalues(diagonal, off_diagonal, compute);
  std::reverse(squares.begin(), squares.end());
  return squares;
}

}  // namespace

ReducedValues reduced_singular_values(MatrixView<const float> matrix, const Compute& compute) {
  const MatrixView<const float> a = matrix.rows >= matrix.cols ? matrix : matrix.transposed();
  const auto rows = static_cast<std::size_t>(a.rows), columns = static_cast<std::size_t>(a.cols);
  const auto largest = static_cast<double>(kernels::largest_magnitude(compute.kernels, a));
  ReducedValues out{.values = std::vector<double>(columns, 0.0)};
  if (largest == 0) return out;
  // Scaling by a power of two is exact and prevents overflow and underflow of squares.
  int exponent = 0;
  std::frexp(largest, &exponent);
  exponent = std::clamp(exponent, -125, 126);  // so that 2^-exponent is a normal float32
  BidiagonalReduction work = prepare_reduction(rows, columns);
  std::vector<double> row_squares(work.row_panels * kSide);
  run_parts(compute, work.row_panels, [&](std::size_t panel) {
    kernels::pack_row_panel(compute.kernels, a, std::ldexp(1.0F, -exponent), panel, work,
                            row_squares.data() + panel * kSide);
  });
  out.energy =
      std::ldexp(std::accumulate(row_squares.begin(), row_squares.end(), 0.0), 2 * exponent);
  if (!std::isfinite(out.energy)) return out;
  reduce_to_band(work, compute);
  const std::vector<double> squares = squared_values(work, compute);
  // Padding columns of the last tile gave zeros, which are among the last values.
  for (std::size_t at = 0; at < columns; ++at) {
    out.values[at] = std::ldexp(std::sqrt(std::max(squares[at], 0.0)), exponent);
  }
  return out;
}

// The error of a value comes from rounding errors of the matrix, 2^-25 of each entry per update,
// between its two singular vectors. These errors are independent, so a value stays within about
// 2e-8 σ_1, with two exceptions.
//
// First, if many values are equal, their vectors depend on the rounding errors, and errors add up
// instead of averaging out: to 5e-7 σ_1 when all are equal. Hence no window of 1e-5 σ_1 may contain
// more than a quarter of the values. Windows at zero count too, because vectors are as arbitrary
// there.
//
// Second, if σ_1 is far above the others, errors that are small relative to σ_1 are not small
// relative to the energy of the bulk. The errors of the bulk's values are below 1.25e-8 σ_1 then.
// In the worst case, the error of a cumulative energy is 2 · 1.25e-8 σ_1 Σσ / Σσ², which may be
// 1e-6. (σ_1 Σσ / Σσ² is at most (1 + √n) / 2 and at most σ_1 / σ_rms: this rejects only matrices
// with thousands of columns.) In practice signs alternate. If they did not, the sum of squares,
// whose exact value is known, would reveal it.
bool within_error_bounds(const ReducedValues& reduced) {
  constexpr double kWindow = 1e-5, kMaxRatio = 40, kMaxEnergyError = 2e-7;
  const std::vector<double>& values = reduced.values;
  double sum = 0, energy = 0;
  for (const double value : values) {
    sum += value;
    energy += value * value;
  }
  if (!std::isfinite(energy)) return false;
  if (!(std::abs(energy - reduced.energy) <= kMaxEnergyError * reduced.energy)) return false;
  if (values.empty() || energy == 0) return true;
  if (values.front() * sum > kMaxRatio * energy) return false;
  const std::size_t most = (values.size() + 3) / 4;
  for (std::size_t at = 0; at + most < values.size(); ++at) {
    if (values[at] - values[at + most] <= kWindow * values.front()) return false;
  }
  return true;
}

bool worth_reducing(std::int64_t rows, std::int64_t cols) {
  const auto [shorter, longer] = std::minmax(rows, cols);
  return shorter >= 1200 && 4 * longer <= 5 * shorter;
}

std::optional<std::vector<double>> bidiagonal_singular_values(MatrixView<const float> matrix,
                                                              const Compute& compute) {
  ReducedValues reduced = reduced_singular_values(matrix, compute);
  if (!within_error_bounds(reduced)) return std::nullopt;
  return std::move(reduced.values);
}

}  // namespace attnscope
