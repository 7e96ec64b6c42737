#include "attnscope/features/common/fold_norm.h"

#include <cmath>
#include <vector>

namespace attnscope {

void multiply_columns(Matrix<double>& matrix, std::span<const double> gain) {
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    for (std::int64_t col = 0; col < matrix.cols(); ++col) {
      matrix(row, col) *= gain[static_cast<std::size_t>(col)];
    }
  }
}

void center_rows(Matrix<double>& matrix) {
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    double sum = 0;
    for (std::int64_t col = 0; col < matrix.cols(); ++col) sum += matrix(row, col);
    const double mean = sum / static_cast<double>(matrix.cols());
    for (std::int64_t col = 0; col < matrix.cols(); ++col) matrix(row, col) -= mean;
  }
}

void center_columns(Matrix<double>& matrix) {
  std::vector<double> means(static_cast<std::size_t>(matrix.cols()), 0.0);
  const auto for_each = [&](auto visit) {
    for (std::int64_t row = 0; row < matrix.rows(); ++row) {
      for (std::int64_t col = 0; col < matrix.cols(); ++col) {
        visit(matrix(row, col), means[static_cast<std::size_t>(col)]);
      }
    }
  };
  for_each([](double value, double& sum) { sum += value; });
  for (double& mean : means) mean /= static_cast<double>(matrix.rows());
  for_each([](double& value, double mean) { value -= mean; });
}

Matrix<double> with_column(const Matrix<double>& matrix, std::span<const double> column) {
  Matrix<double> wider(matrix.rows(), matrix.cols() + 1);
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    for (std::int64_t col = 0; col < matrix.cols(); ++col) wider(row, col) = matrix(row, col);
    wider(row, matrix.cols()) = column.empty() ? 0 : column[static_cast<std::size_t>(row)];
  }
  return wider;
}

void rotate_keys(MatrixView<double> keys, std::int64_t head_dim, std::span<const double> angles,
                 RotaryPairs pairs, double factor) {
  const std::int64_t count = std::ssize(angles);
  for (std::int64_t pair = 0; pair < count; ++pair) {
    const auto [at, step] = rotary_pair(pairs, pair, count);
    const double angle = angles[static_cast<std::size_t>(pair)];
    const double cosine = factor * std::cos(angle), sine = factor * std::sin(angle);
    for (std::int64_t first = at; first < keys.rows; first += head_dim) {
      for (std::int64_t col = 0; col < keys.cols; ++col) {
        double& x = keys(first, col);
        double& y = keys(first + step, col);
        const double rotated = x * cosine - y * sine;
        y = y * cosine + x * sine;
        x = rotated;
      }
    }
  }
}

}  // namespace attnscope
