#include "attnscope/numerics/svd/batched_singular_values.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/lapack/lapack.h"
#include "attnscope/numerics/products/gram.h"
#include "attnscope/numerics/svd/kernels/kernels.h"
#include "attnscope/numerics/svd/singular_values.h"

namespace attnscope {
namespace {

using kernels::kBlock;

std::size_t padded(std::int64_t order) {
  return (static_cast<std::size_t>(order) + kBlock - 1) / kBlock * kBlock;
}

/// Interleaved matrices of one group, and buffers for their reduction.
struct Workspace {
  AlignedBuffer<double> rows, triangle, vectors;
};

Workspace& workspace() {
  // Scratch memory of the thread; it does not affect results.
  thread_local Workspace own;
  return own;
}

/// Interleaves the rows of each matrix times its scale, one matrix per lane.
template <class T>
void interleave_rows(std::span<const MatrixView<const T>> matrices, const double* scales,
                     bool lower, double* rows, const Compute& compute) {
  const std::size_t lanes = kernels::lanes(compute.kernels);
  const auto n = static_cast<std::size_t>(matrices.front().rows);
  const std::size_t order = padded(matrices.front().rows);
  std::vector<const T*> lines(matrices.size());
  std::vector<T> packed;  // used if the elements of a row are not contiguous
  for (std::size_t row = 0; row < order; ++row) {
    const std::size_t block = row / kBlock;
    double* out = rows + (kernels::row_block_offset(block, order, lower) + row % kBlock) * lanes;
    const std::size_t stored = lower ? (block + 1) * kBlock : order;
    const std::size_t columns = row >= n ? 0 : lower ? row + 1 : n;
    packed.resize(matrices.size() * n);
    for (std::size_t index = 0; index < matrices.size() && columns > 0; ++index) {
      const MatrixView<const T>& matrix = matrices[index];
      lines[index] = matrix.data + static_cast<std::int64_t>(row) * matrix.row_stride;
      if (matrix.col_stride == 1) continue;
      T* copy = packed.data() + index * n;
      for (std::size_t col = 0; col < columns; ++col) {
        copy[col] = lines[index][static_cast<std::int64_t>(col) * matrix.col_stride];
      }
      lines[index] = copy;
    }
    if (columns > 0) kernels::interleave_row(compute.kernels, lines, scales, columns, out);
    for (std::size_t col = columns; col < stored; ++col) {
      std::fill_n(out + col * kBlock * lanes, lanes, 0.0);
    }
  }
}

/// Copies the Gram matrix into lane `lane` of the triangle.
void interleave_gram(const double* gram, std::size_t n, std::size_t lane, std::size_t lanes,
                     double* triangle) {
  const std::size_t order = padded(static_cast<std::int64_t>(n));
  for (std::size_t col = 0; col < n; ++col) {
    const std::size_t first = col / kBlock * kBlock;
    double* block = triangle + lane + kernels::column_block_offset(col / kBlock, order) * lanes;
    for (std::size_t row = col; row < n; ++row) {
      block[((row - first) * kBlock + col - first) * lanes] = gram[col * n + row];
      // The block on the diagonal is stored completely.
      if (row < first + kBlock) {
        block[((col - first) * kBlock + row - first) * lanes] = gram[col * n + row];
      }
    }
  }
}

/// Computes the square roots, descending, of the eigenvalues of `count` symmetric matrices, times
/// 2^exponents: values (count, n). fill(first, count, triangle, exponents) interleaves the next
/// matrices, at most lanes() of them.
template <class Fill>
void roots_of_eigenvalues(std::size_t count, std::size_t n, const Fill& fill, double* values,
                          const Compute& compute) {
  const std::size_t lanes = kernels::lanes(compute.kernels);
  const std::size_t order = padded(static_cast<std::int64_t>(n));
  Workspace& memory = workspace();
  double* triangle =
      memory.triangle.reserve(kernels::column_block_offset(order / kBlock, order) * lanes);
  const std::size_t group_size = (order + 1) * lanes;
  double* diagonals = memory.vectors.reserve(2 * kernels::kGroups * group_size +
                                             kernels::kBlockWork * order * lanes);
  double* couplings = diagonals + kernels::kGroups * group_size;
  double* work = couplings + kernels::kGroups * group_size;
  for (std::size_t batch = 0; batch < count; batch += kernels::kGroups * lanes) {
    const std::size_t size = std::min(kernels::kGroups * lanes, count - batch);
    std::vector<int> exponents(size);
    std::size_t groups = 0;
    for (std::size_t first = 0; first < size; first += lanes, ++groups) {
      compute.check_stop();
      fill(batch + first, std::min(lanes, size - first), triangle, &exponents[first]);
      kernels::batched_tridiagonal(compute.kernels, triangle, order, work,
                                   diagonals + groups * group_size,
                                   couplings + groups * group_size);
    }
    if (!kernels::batched_eigenvalues(compute.kernels, diagonals, couplings, order, groups)) {
      throw Error(ErrorKind::numerical, "matrices of order " + std::to_string(n),
                  "no solver converged");
    }
    for (std::size_t index = 0; index < size; ++index) {
      // Padding gave zeros, which are no larger than any eigenvalue of a Gram matrix.
      const double* largest =
          diagonals + index / lanes * group_size + (order - 1) * lanes + index % lanes;
      // Scales by two powers of two, because a single one might overflow. Rounds at most once.
      const double half = std::ldexp(1.0, exponents[index] / 2);
      const double rest = std::ldexp(1.0, exponents[index] - exponents[index] / 2);
      for (std::size_t at = 0; at < n; ++at, largest -= lanes) {
        *values++ = std::sqrt(std::max(*largest, 0.0)) * half * rest;
      }
    }
  }
}

template <class T>
void singular_values_of_all(std::span<const MatrixView<const T>> matrices, double* values,
                            const Compute& compute) {
  if (matrices.empty()) return;
  const auto n = static_cast<std::size_t>(matrices.front().rows);
  if (!compute.kernels.available() || matrices.front().rows > kLargestSmallOrder) {
    for (const auto& matrix : matrices) {
      const std::vector<double> own = singular_values(matrix, compute).values;
      values = std::copy(own.begin(), own.end(), values);
    }
    return;
  }
  const std::size_t order = padded(matrices.front().rows);
  const auto fill = [&](std::size_t first, std::size_t count, double* triangle, int* exponents) {
    bool lower = true;
    std::vector<double> scales;
    for (const MatrixView<const T>& matrix : matrices.subspan(first, count)) {
      const kernels::Extents extents = kernels::extents(compute.kernels, matrix);
      lower = lower && extents.above == 0;
      *exponents = scale_exponent(std::max(extents.below, extents.above));
      scales.push_back(std::ldexp(1.0, -*exponents++));
    }
    double* rows = workspace().rows.reserve(
        kernels::row_block_offset(order / kBlock, order, lower) * kernels::lanes(compute.kernels));
    interleave_rows(matrices.subspan(first, count), scales.data(), lower, rows, compute);
    kernels::batched_gram(compute.kernels, rows, order, lower, triangle);
  };
  roots_of_eigenvalues(matrices.size(), n, fill, values, compute);
}

template <class T>
std::vector<SingularResult> values_of_each(std::span<const MatrixView<const T>> matrices,
                                           const Compute& compute) {
  std::vector<SingularResult> out;
  const auto short_side = [](const auto& matrix) { return std::min(matrix.rows, matrix.cols); };
  const std::int64_t n = matrices.empty() ? 0 : short_side(matrices.front());
  const bool together = compute.kernels.available() && n <= kLargestSmallOrder &&
                        std::all_of(matrices.begin(), matrices.end(),
                                    [&](const auto& matrix) { return short_side(matrix) == n; });
  if (!together) {
    for (const auto& matrix : matrices) {
      out.push_back(singular_result([&] { return singular_values(matrix, compute); }));
    }
    return out;
  }
  std::vector<std::vector<double>> grams;
  std::vector<const double*> lowers;
  std::vector<int> exponents;
  for (const auto& matrix : matrices) {
    compute.check_stop();
    exponents.push_back(scale_exponent(largest_magnitude(matrix, compute)));
    grams.push_back(gram_lower(matrix.rows <= matrix.cols ? matrix : matrix.transposed(),
                               std::ldexp(1.0, -exponents.back()), compute));
    lowers.push_back(grams.back().data());
  }
  const auto count = static_cast<std::size_t>(n);
  std::vector<double> values(matrices.size() * count);
  small_gram_singular_values(lowers, n, values.data(), compute);
  for (std::size_t index = 0; index < matrices.size(); ++index) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(index * count);
    SingularValues own{{first, first + n}};
    for (double& value : own.values) value = std::ldexp(value, exponents[index]);
    if (!own.values.empty() && std::isinf(own.values.front())) {
      out.emplace_back(norm_overflows(matrices[index].rows, matrices[index].cols));
    } else {
      out.emplace_back(std::move(own));
    }
  }
  return out;
}

}  // namespace

std::vector<SingularResult> singular_values_of_each(
    std::span<const MatrixView<const float>> matrices, const Compute& compute) {
  return values_of_each(matrices, compute);
}

std::vector<SingularResult> singular_values_of_each(
    std::span<const MatrixView<const double>> matrices, const Compute& compute) {
  return values_of_each(matrices, compute);
}

void small_singular_values(std::span<const MatrixView<const float>> matrices, double* values,
                           const Compute& compute) {
  singular_values_of_all(matrices, values, compute);
}

void small_singular_values(std::span<const MatrixView<const double>> matrices, double* values,
                           const Compute& compute) {
  singular_values_of_all(matrices, values, compute);
}

void small_gram_singular_values(std::span<const double* const> grams, std::int64_t order,
                                double* values, const Compute& compute) {
  const auto n = static_cast<std::size_t>(order);
  if (!compute.kernels.available() || order > kLargestSmallOrder) {
    for (const double* gram : grams) {
      std::vector<double> copy(gram, gram + n * n);
      compute.check_stop();
      const auto eigenvalues = lapack::symmetric_eigenvalues(order, copy.data());
      if (!eigenvalues) {
        throw Error(ErrorKind::numerical, "matrix of order " + std::to_string(order),
                    "no solver converged");
      }
      values = std::transform(eigenvalues->rbegin(), eigenvalues->rend(), values,
                              [](double value) { return std::sqrt(std::max(value, 0.0)); });
    }
    return;
  }
  const std::size_t lanes = kernels::lanes(compute.kernels);
  const std::size_t size = kernels::column_block_offset(padded(order) / kBlock, padded(order));
  const auto fill = [&](std::size_t first, std::size_t count, double* triangle, int* exponents) {
    std::fill(triangle, triangle + size * lanes, 0.0);
    for (std::size_t lane = 0; lane < count; ++lane) {
      interleave_gram(grams[first + lane], n, lane, lanes, triangle);
      exponents[lane] = 0;
    }
  };
  roots_of_eigenvalues(grams.size(), n, fill, values, compute);
}

}  // namespace attnscope
