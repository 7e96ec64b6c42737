#include "attnscope/numerics/attention_maps/singular_value_bounds.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "attnscope/numerics/attention_maps/kernels/subspace.h"
#include "attnscope/numerics/lapack/lapack.h"

namespace attnscope {
namespace {

using kernels::kSketch;

/// The columns of (rows, kSketch) become orthonormal; those that depend on others become zero.
void orthonormalise_few(std::size_t rows, double* columns) {
  const auto inner = [&](std::size_t a, std::size_t b) {
    double sum = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      sum += columns[row * kSketch + a] * columns[row * kSketch + b];
    }
    return sum;
  };
  constexpr double kDependent = 1e-20;  // of the squared length
  for (std::size_t own = 0; own < kSketch; ++own) {
    const double before = inner(own, own);
    // Twice is enough: Giraud et al. 2005.
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
  orthonormalise_few(cols, right.data());
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

}  // namespace attnscope
