#include "tests/support/matrices.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace attnscope::test {
namespace {

/// I - 2 v vᵀ / vᵀv with a random v: orthogonal.
struct Reflection {
  std::vector<double> v;
  double squared_length = 0;

  Reflection(std::int64_t size, std::mt19937_64& random) : v(static_cast<std::size_t>(size)) {
    std::normal_distribution<double> normal;
    for (double& entry : v) entry = normal(random);
    squared_length = std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
  }
};

/// matrix = reflection · matrix, row by row in memory order.
void reflect_rows(Matrix<double>& matrix, const Reflection& reflection) {
  const std::vector<double>& v = reflection.v;
  std::vector<double> projection(static_cast<std::size_t>(matrix.cols()), 0.0);  // vᵀ matrix
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    const double entry = v[static_cast<std::size_t>(row)];
    for (std::int64_t col = 0; col < matrix.cols(); ++col) {
      projection[static_cast<std::size_t>(col)] += entry * matrix(row, col);
    }
  }
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    const double factor = 2 * v[static_cast<std::size_t>(row)] / reflection.squared_length;
    for (std::int64_t col = 0; col < matrix.cols(); ++col) {
      matrix(row, col) -= factor * projection[static_cast<std::size_t>(col)];
    }
  }
}

/// matrix = matrix · reflection.
void reflect_cols(Matrix<double>& matrix, const Reflection& reflection) {
  const std::vector<double>& v = reflection.v;
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    double* const entries = matrix.data() + row * matrix.cols();
    const double projection = std::inner_product(v.begin(), v.end(), entries, 0.0);
    const double factor = 2 * projection / reflection.squared_length;
    for (std::size_t col = 0; col < v.size(); ++col) entries[col] -= factor * v[col];
  }
}

Matrix<double> scaled(Matrix<double> matrix, double factor) {
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    for (std::int64_t col = 0; col < matrix.cols(); ++col) matrix(row, col) *= factor;
  }
  return matrix;
}

Matrix<double> all_ones(std::int64_t rows, std::int64_t cols, std::uint64_t) {
  Matrix<double> matrix(rows, cols);
  std::fill_n(matrix.data(), rows * cols, 1.0);
  return matrix;
}

Matrix<double> rank_one(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  return naive_product(gaussian_matrix(rows, 1, seed).view(),
                       gaussian_matrix(1, cols, seed + 1).view());
}

Matrix<double> geometric_decay(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  return matrix_with_singular_values(rows, cols, geometric_values(std::min(rows, cols), 1e-7),
                                     seed);
}

/// Values in four groups. Inside a group they have relative differences of about 1e-12.
Matrix<double> clusters(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  std::vector<double> planted(static_cast<std::size_t>(std::min(rows, cols)));
  constexpr double kCenters[] = {3, 1, 1e-3, 1e-6};
  for (std::size_t index = 0; index < planted.size(); ++index) {
    planted[index] = kCenters[index % 4] * (1 + 1e-12 * static_cast<double>(index));
  }
  return matrix_with_singular_values(rows, cols, planted, seed);
}

/// One value far above all others, which are close together.
Matrix<double> spike_over_bulk(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  std::vector<double> planted(static_cast<std::size_t>(std::min(rows, cols)), 1.0);
  for (std::size_t index = 0; index < planted.size(); ++index) {
    planted[index] -= 0.5 * static_cast<double>(index) / static_cast<double>(planted.size());
  }
  planted.front() = 1e3;
  return matrix_with_singular_values(rows, cols, planted, seed);
}

Matrix<double> duplicated_columns(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Matrix<double> matrix = gaussian_matrix(rows, cols, seed);
  const std::int64_t distinct = (cols + 2) / 3;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = distinct; col < cols; ++col) {
      matrix(row, col) = matrix(row, col % distinct);
    }
  }
  return matrix;
}

/// A few entries of a million, as in some models.
Matrix<double> outliers(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Matrix<double> matrix = gaussian_matrix(rows, cols, seed);
  std::mt19937_64 random(seed);
  for (int count = 0; count < 3; ++count) {
    const auto row = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows));
    const auto col = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(cols));
    matrix(row, col) = count == 1 ? -1e6 : 1e6;
  }
  return matrix;
}

/// Every third row and every fourth column is exactly zero.
Matrix<double> zero_rows_and_columns(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Matrix<double> matrix = gaussian_matrix(rows, cols, seed);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      if (row % 3 == 1 || col % 4 == 2) matrix(row, col) = 0;
    }
  }
  return matrix;
}

}  // namespace

Matrix<double> zero_matrix(std::int64_t rows, std::int64_t cols) {
  Matrix<double> matrix(rows, cols);
  std::fill_n(matrix.data(), rows * cols, 0.0);
  return matrix;
}

Matrix<double> identity_matrix(std::int64_t rows, std::int64_t cols) {
  Matrix<double> matrix = zero_matrix(rows, cols);
  for (std::int64_t index = 0; index < std::min(rows, cols); ++index) matrix(index, index) = 1;
  return matrix;
}

Matrix<double> gaussian_matrix(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Matrix<double> matrix(rows, cols);
  std::generate_n(matrix.data(), rows * cols, [&] { return normal(random); });
  return matrix;
}

Matrix<double> integer_matrix(std::int64_t rows, std::int64_t cols, int limit, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int> integer(-limit, limit);
  Matrix<double> matrix(rows, cols);
  std::generate_n(matrix.data(), rows * cols, [&] { return integer(random); });
  return matrix;
}

Matrix<double> hadamard_matrix(std::int64_t rows, std::int64_t cols) {
  Matrix<double> matrix(rows, cols);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      const int common_bits = std::popcount(static_cast<std::uint64_t>(row & col));
      matrix(row, col) = common_bits % 2 == 0 ? 1 : -1;
    }
  }
  return matrix;
}

Matrix<double> matrix_with_singular_values(std::int64_t rows, std::int64_t cols,
                                           std::span<const double> planted, std::uint64_t seed) {
  Matrix<double> matrix = zero_matrix(rows, cols);
  for (std::size_t index = 0; index < planted.size(); ++index) {
    matrix(static_cast<std::int64_t>(index), static_cast<std::int64_t>(index)) = planted[index];
  }
  // As many reflections as rows would reach every orthogonal matrix. A few dozen are enough to make
  // all entries generic.
  constexpr std::int64_t kReflections = 32;
  std::mt19937_64 random(seed);
  for (std::int64_t count = 0; count < std::min(rows, kReflections); ++count) {
    reflect_rows(matrix, Reflection(rows, random));
  }
  for (std::int64_t count = 0; count < std::min(cols, kReflections); ++count) {
    reflect_cols(matrix, Reflection(cols, random));
  }
  return matrix;
}

std::vector<double> geometric_values(std::int64_t count, double last) {
  std::vector<double> values(static_cast<std::size_t>(count), 1.0);
  for (std::int64_t index = 1; index < count; ++index) {
    const double share = static_cast<double>(index) / static_cast<double>(count - 1);
    values[static_cast<std::size_t>(index)] = std::pow(last, share);
  }
  return values;
}

std::span<const MatrixKind> matrix_kinds() {
  using std::int64_t;
  using std::uint64_t;
  static const std::vector<MatrixKind> kinds = {
      {"gaussian", gaussian_matrix},
      {"hadamard",
       [](int64_t rows, int64_t cols, uint64_t) { return hadamard_matrix(rows, cols); }},
      {"geometric decay to 1e-7", geometric_decay},
      {"clusters", clusters},
      {"spike over bulk", spike_over_bulk},
      {"duplicated columns", duplicated_columns},
      {"all ones", all_ones},
      {"rank one", rank_one},
      {"outliers of 1e6", outliers},
      {"zero rows and columns", zero_rows_and_columns},
      {"zero", [](int64_t rows, int64_t cols, uint64_t) { return zero_matrix(rows, cols); }},
      {"identity",
       [](int64_t rows, int64_t cols, uint64_t) { return identity_matrix(rows, cols); }},
      {"scale 1e-30",
       [](int64_t rows, int64_t cols, uint64_t seed) {
         return scaled(gaussian_matrix(rows, cols, seed), 1e-30);
       }},
      {"scale 1e30", [](int64_t rows, int64_t cols,
                        uint64_t seed) { return scaled(gaussian_matrix(rows, cols, seed), 1e30); }},
  };
  return kinds;
}

Matrix<double> naive_product(MatrixView<const double> a, MatrixView<const double> b) {
  Matrix<double> out = zero_matrix(a.rows, b.cols);
  for (std::int64_t row = 0; row < a.rows; ++row) {
    for (std::int64_t inner = 0; inner < a.cols; ++inner) {
      for (std::int64_t col = 0; col < b.cols; ++col)
        out(row, col) += a(row, inner) * b(inner, col);
    }
  }
  return out;
}

double frobenius_norm(MatrixView<const double> matrix) {
  double largest = 0;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      largest = std::max(largest, std::abs(matrix(row, col)));
    }
  }
  if (largest == 0) return 0;
  double sum = 0;  // relative to the largest entry, so that no scale overflows
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      const double share = matrix(row, col) / largest;
      sum += share * share;
    }
  }
  return largest * std::sqrt(sum);
}

Matrix<double> scaled_by_power_of_two(const Matrix<double>& matrix, int exponent) {
  Matrix<double> out = converted<double>(matrix);
  for (std::int64_t index = 0; index < out.rows() * out.cols(); ++index) {
    out.data()[index] = std::ldexp(out.data()[index], exponent);
  }
  return out;
}

}  // namespace attnscope::test
