#include "attnscope/features/common/calibration/low_rank_fit.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/numerics/products/dense_products.h"
#include "attnscope/numerics/products/second_moments.h"
#include "attnscope/numerics/svd/eigenvectors.h"
#include "attnscope/numerics/svd/symmetric_eigenvalues.h"

namespace attnscope {

Matrix<double> product(MatrixView<const double> a, MatrixView<const double> b,
                       const Compute& compute) {
  return multiply_transposed(a, b.transposed(), compute);
}

namespace {

/// A matrix whose eigenvalues are the energies of W x; only its lower triangle is set. W G Wᵀ, or
/// Sᵀ WᵀW S with a root S Sᵀ = G if W has more rows than columns. For sums instead of means.
struct SmallSide {
  Matrix<double> product;
  Matrix<double> root;  // S (n, r); empty for W G Wᵀ
};

double trace_of(MatrixView<const double> matrix) {
  double sum = 0;
  for (std::int64_t at = 0; at < matrix.rows; ++at) sum += matrix(at, at);
  return sum;
}

double added_to(const MeanMoments& moments) {
  return moments.ridge * trace_of(moments.sums) /
         static_cast<double>(std::max<std::int64_t>(1, moments.sums.rows));
}

SmallSide small_side(MatrixView<const double> weight, const MeanMoments& moments,
                     const Compute& compute) {
  const double added = added_to(moments);
  SmallSide out;
  if (weight.rows > weight.cols) {
    // Keeps directions without energy in the result.
    constexpr double kLeast = 1e-12;
    const double least = kLeast * trace_of(moments.sums);
    out.root = root_of_lower(moments.sums, std::max(added, least), compute);
    const Matrix<double> gram = columns_gram(weight, compute);
    const Matrix<double> read = product(gram.view(), out.root.view(), compute);
    out.product = product(out.root.view().transposed(), read.view(), compute);
    return out;
  }
  out.product = product_on_both_sides(weight, moments.sums, compute);
  if (added == 0) return out;
  const Matrix<double> own = columns_gram(weight.transposed(), compute);
  for (std::int64_t at = 0; at < own.rows() * own.cols(); ++at) {
    out.product.data()[at] += added * own.data()[at];
  }
  return out;
}

/// Converts sums to `count` means: missing ones are zero, and none is negative.
void finish_energies(std::vector<double>& energies, const MeanMoments& moments,
                     std::int64_t count) {
  const auto rows = static_cast<double>(std::max<std::int64_t>(1, moments.rows));
  for (double& energy : energies) energy = std::max(energy / rows, 0.0);
  energies.resize(static_cast<std::size_t>(count), 0.0);
}

std::vector<double> descending_eigenvalues(MatrixView<const double> lower, const Compute& compute) {
  auto values = symmetric_eigenvalues(lower, compute);
  if (!values) {
    throw Error(ErrorKind::numerical, "eigenvalues",
                "LAPACK did not converge for a matrix of order " + std::to_string(lower.rows));
  }
  std::reverse(values->begin(), values->end());
  return *std::move(values);
}

/// Scales rows to length 1; rows of zeros stay zero.
void normalize_rows(Matrix<double>& rows) {
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    double squares = 0;
    for (std::int64_t col = 0; col < rows.cols(); ++col) squares += rows(row, col) * rows(row, col);
    const double factor = squares > 0 ? 1 / std::sqrt(squares) : 0;
    for (std::int64_t col = 0; col < rows.cols(); ++col) rows(row, col) *= factor;
  }
}

}  // namespace

OutputDirections output_directions(MatrixView<const double> weight, const MeanMoments& moments,
                                   const Compute& compute, std::optional<std::int64_t> most) {
  const std::int64_t k = std::min(weight.rows, weight.cols), wanted = most.value_or(k);
  SmallSide side = small_side(weight, moments, compute);
  Eigenvectors own = eigenvectors(side.product.view());
  side.product = {};
  finish_energies(own.values, moments, k);
  OutputDirections out{.energies = std::move(own.values),
                       .basis = Matrix<double>(wanted, weight.rows)};
  std::fill_n(out.basis.data(), wanted * weight.rows, 0.0);
  const std::int64_t there = std::min(wanted, own.vectors.rows());
  const auto leading = std::as_const(own.vectors).view().row_block(0, there);
  if (weight.rows > weight.cols) {
    const Matrix<double> read = product(leading, side.root.view().transposed(), compute);
    Matrix<double> basis = product(read.view(), weight.transposed(), compute);
    normalize_rows(basis);
    std::copy_n(basis.data(), there * weight.rows, out.basis.data());
  } else {
    std::copy_n(leading.data, there * weight.rows, out.basis.data());
  }
  return out;
}

std::vector<double> output_energies(MatrixView<const double> weight, const MeanMoments& moments,
                                    const Compute& compute) {
  SmallSide side = small_side(weight, moments, compute);
  side.root = {};
  std::vector<double> out = descending_eigenvalues(side.product.view(), compute);
  finish_energies(out, moments, std::min(weight.rows, weight.cols));
  return out;
}

std::vector<double> input_energies(const MeanMoments& moments, const Compute& compute) {
  std::vector<double> out = descending_eigenvalues(moments.sums, compute);
  for (double& energy : out) energy += added_to(moments);
  finish_energies(out, moments, moments.sums.rows);
  return out;
}

namespace {

std::uint64_t doubles(std::int64_t rows, std::int64_t cols) {
  return sizeof(double) * static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(cols);
}

/// Memory for blocks of products, and for packing in BLAS.
constexpr std::uint64_t kBlockBytes = 128 << 20;

}  // namespace

std::uint64_t output_directions_bytes(std::int64_t rows, std::int64_t cols) {
  const std::int64_t k = std::min(rows, cols);
  return doubles(rows, cols) + 6 * doubles(k, k) + 2 * doubles(rows, k) + kBlockBytes;
}

std::uint64_t energies_bytes(std::int64_t rows, std::int64_t cols) {
  const std::int64_t k = std::min(rows, cols);
  // The triangle of G is kept for the next matrix.
  return doubles(cols, cols) / 2 + doubles(rows, cols) + 2 * doubles(k, k) + kBlockBytes;
}

Matrix<double> truncated(Matrix<double> weight, const OutputDirections& directions,
                         std::int64_t rank, const Compute& compute) {
  const auto basis = directions.basis.view().row_block(0, rank);
  const Matrix<double> latent = product(basis, weight.view(), compute);
  weight = {};
  return product(basis.transposed(), latent.view(), compute);
}

Matrix<double> solve_ridged(Matrix<double> a, double share, Matrix<double> right) {
  const std::int64_t n = a.rows();
  std::vector<double> diagonal;
  double trace = 0;
  for (std::int64_t at = 0; at < n; ++at) {
    diagonal.push_back(a(at, at));
    trace += a(at, at);
  }
  for (;; share *= 10) {
    const double added = share * trace / static_cast<double>(std::max<std::int64_t>(1, n));
    for (std::int64_t at = 0; at < n; ++at) {
      a(at, at) = diagonal[static_cast<std::size_t>(at)] + added;
    }
    if (solve_positive(a, right)) return right;
    if (share > 1) {
      throw Error(ErrorKind::numerical, "least squares",
                  "the normal equations are not positive definite");
    }
    for (std::int64_t row = 0; row < n; ++row) {  // restores the triangle that was overwritten
      for (std::int64_t col = row + 1; col < n; ++col) a(row, col) = a(col, row);
    }
  }
}

double output_energy(MatrixView<const double> weight, MatrixView<const double> moments,
                     const Compute& compute) {
  const Matrix<double> read = product(weight, moments, compute);
  double sum = 0;
  for (std::int64_t row = 0; row < weight.rows; ++row) {
    for (std::int64_t col = 0; col < weight.cols; ++col) sum += read(row, col) * weight(row, col);
  }
  return sum;
}

Matrix<double> rows_of(MatrixView<const double> matrix, const std::vector<std::int64_t>& kept) {
  Matrix<double> out(std::ssize(kept), matrix.cols);
  for (std::int64_t row = 0; row < out.rows(); ++row) {
    const std::int64_t from = kept[static_cast<std::size_t>(row)];
    for (std::int64_t col = 0; col < out.cols(); ++col) out(row, col) = matrix(from, col);
  }
  return out;
}

Matrix<double> columns_of(MatrixView<const double> matrix, const std::vector<std::int64_t>& kept) {
  Matrix<double> out(matrix.rows, std::ssize(kept));
  for (std::int64_t row = 0; row < out.rows(); ++row) {
    for (std::int64_t col = 0; col < out.cols(); ++col) {
      out(row, col) = matrix(row, kept[static_cast<std::size_t>(col)]);
    }
  }
  return out;
}

Matrix<double> refitted(MatrixView<const double> weight, const MeanMoments& moments,
                        const std::vector<std::int64_t>& kept, const Compute& compute) {
  const auto rows = static_cast<double>(std::max<std::int64_t>(1, moments.rows));
  const auto mean = [&](std::int64_t row, std::int64_t col) {
    return moments.sums(std::max(row, col), std::min(row, col)) / rows;
  };
  const std::int64_t inputs = moments.sums.rows, count = std::ssize(kept);
  Matrix<double> right(weight.rows, count);
  constexpr std::int64_t kColumns = 512;
  for (std::int64_t first = 0; first < count; first += kColumns) {
    Matrix<double> to_kept(inputs, std::min(kColumns, count - first));
    for (std::int64_t row = 0; row < inputs; ++row) {
      for (std::int64_t col = 0; col < to_kept.cols(); ++col) {
        to_kept(row, col) = mean(row, kept[static_cast<std::size_t>(first + col)]);
      }
    }
    const Matrix<double> own = product(weight, to_kept.view(), compute);
    for (std::int64_t row = 0; row < own.rows(); ++row) {
      std::copy_n(&own(row, 0), own.cols(), &right(row, first));
    }
  }
  Matrix<double> among(count, count);
  for (std::int64_t row = 0; row < count; ++row) {
    for (std::int64_t col = 0; col <= row; ++col) {
      among(row, col) = among(col, row) =
          mean(kept[static_cast<std::size_t>(row)], kept[static_cast<std::size_t>(col)]);
    }
  }
  constexpr double kRidge = 1e-8;
  return solve_ridged(std::move(among), kRidge, std::move(right));
}

}  // namespace attnscope
