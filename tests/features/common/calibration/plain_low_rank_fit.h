// Reference implementation of the fits and truncations in docs/plan.md: plain float64 loops over
// the inputs of matrices on a text. Only the forward pass that records the inputs is library code.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "attnscope/features/common/changed_model.h"
#include "attnscope/forward/forward_pass.h"
#include "tests/support/compute.h"
#include "tests/support/matrices.h"

namespace attnscope::test {

using Numbers = std::vector<std::int64_t>;

/// Eigenvalues of a symmetric matrix (n, n) in descending order, by Jacobi rotations. Row i of
/// `vectors` is the eigenvector of value i.
struct JacobiVectors {
  std::vector<double> values;
  Matrix<double> vectors;
};

inline JacobiVectors jacobi_vectors(Matrix<double> a) {
  const std::int64_t n = a.rows();
  Matrix<double> v = identity_matrix(n, n);
  constexpr int kSweeps = 40;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = p + 1; q < n; ++q) {
        if (a(p, q) == 0) continue;
        const double tau = (a(q, q) - a(p, p)) / (2 * a(p, q));
        const double t = (tau < 0 ? -1 : 1) / (std::abs(tau) + std::sqrt(1 + tau * tau));
        const double c = 1 / std::sqrt(1 + t * t), s = t * c;
        for (std::int64_t at = 0; at < n; ++at) {
          const double left = a(at, p), right = a(at, q);
          a(at, p) = c * left - s * right;
          a(at, q) = s * left + c * right;
        }
        for (std::int64_t at = 0; at < n; ++at) {
          const double upper = a(p, at), lower = a(q, at);
          a(p, at) = c * upper - s * lower;
          a(q, at) = s * upper + c * lower;
          const double own = v(p, at), other = v(q, at);
          v(p, at) = c * own - s * other;
          v(q, at) = s * own + c * other;
        }
      }
    }
  }
  std::vector<std::pair<double, std::int64_t>> order;
  for (std::int64_t at = 0; at < n; ++at) order.emplace_back(-a(at, at), at);
  std::sort(order.begin(), order.end());
  JacobiVectors out{.values = {}, .vectors = Matrix<double>(n, n)};
  for (std::int64_t row = 0; row < n; ++row) {
    const auto& [value, from] = order[static_cast<std::size_t>(row)];
    out.values.push_back(-value);
    for (std::int64_t col = 0; col < n; ++col) out.vectors(row, col) = v(from, col);
  }
  return out;
}

/// Σ f(λ) v vᵀ, such as the square root of a matrix or its inverse.
inline Matrix<double> function_of(const JacobiVectors& of, double (*f)(double)) {
  const std::int64_t n = of.vectors.rows();
  Matrix<double> out = zero_matrix(n, n);
  for (std::int64_t at = 0; at < n; ++at) {
    const double factor = f(of.values[static_cast<std::size_t>(at)]);
    for (std::int64_t row = 0; row < n; ++row) {
      for (std::int64_t col = 0; col < n; ++col) {
        out(row, col) += factor * of.vectors(at, row) * of.vectors(at, col);
      }
    }
  }
  return out;
}

/// X (k, m) that minimizes ‖A X − B‖² for A (n, k) and B (n, m), by Gram–Schmidt.
inline Matrix<double> least_squares(Matrix<double> a, Matrix<double> b) {
  const std::int64_t k = a.cols(), m = b.cols();
  Matrix<double> r = zero_matrix(k, k), x = zero_matrix(k, m);
  for (std::int64_t col = 0; col < k; ++col) {
    for (std::int64_t row = 0; row < a.rows(); ++row) r(col, col) += a(row, col) * a(row, col);
    r(col, col) = std::sqrt(r(col, col));
    for (std::int64_t row = 0; row < a.rows(); ++row) a(row, col) /= r(col, col);
    const auto take_off = [&](Matrix<double>& from, std::int64_t other) {
      double along = 0;
      for (std::int64_t row = 0; row < a.rows(); ++row) along += a(row, col) * from(row, other);
      for (std::int64_t row = 0; row < a.rows(); ++row) from(row, other) -= along * a(row, col);
      return along;
    };
    for (std::int64_t other = col + 1; other < k; ++other) r(col, other) = take_off(a, other);
    for (std::int64_t other = 0; other < m; ++other) x(col, other) = take_off(b, other);
  }
  for (std::int64_t row = k; row-- > 0;) {
    for (std::int64_t col = 0; col < m; ++col) {
      for (std::int64_t at = row + 1; at < k; ++at) x(row, col) -= r(row, at) * x(at, col);
      x(row, col) /= r(row, row);
    }
  }
  return x;
}

/// W' (m, s) that minimizes the mean of ‖W x − W' x_S‖² over rows x, plus a ridge term: ‖W'‖² times
/// 1e-8 of the mean square of x_S.
inline Matrix<double> plainly_refitted(const Matrix<double>& rows, const Matrix<double>& weight,
                                       const Numbers& kept) {
  const std::int64_t count = rows.rows(), s = std::ssize(kept);
  double square = 0;
  for (std::int64_t row = 0; row < count; ++row) {
    for (const std::int64_t at : kept) square += rows(row, at) * rows(row, at);
  }
  // Appends rows with target zero, which implement the ridge term.
  const double asked = std::sqrt(1e-8 * square / static_cast<double>(s));
  Matrix<double> a = zero_matrix(count + s, s), b = zero_matrix(count + s, weight.rows());
  const Matrix<double> outputs = naive_product(rows.view(), weight.view().transposed());
  for (std::int64_t row = 0; row < count; ++row) {
    for (std::int64_t col = 0; col < s; ++col) {
      a(row, col) = rows(row, kept[static_cast<std::size_t>(col)]);
    }
    for (std::int64_t col = 0; col < weight.rows(); ++col) b(row, col) = outputs(row, col);
  }
  for (std::int64_t col = 0; col < s; ++col) a(count + col, col) = asked;
  const Matrix<double> x = least_squares(std::move(a), std::move(b));
  Matrix<double> out(weight.rows(), s);
  for (std::int64_t row = 0; row < out.rows(); ++row) {
    for (std::int64_t col = 0; col < s; ++col) out(row, col) = x(col, row);
  }
  return out;
}

/// Inputs of a model's matrices on windows of a text, in float64.
class PlainText {
 public:
  PlainText(const Model& model, const std::vector<TokenIds>& windows) : model_(model) {
    const ForwardPass pass(model, /*copy_weights=*/true, test_compute());
    ForwardObserver observer;
    observer.on_inputs = [&](std::int64_t layer, Role role, MatrixView<const float> input) {
      Matrix<double> rows(input.rows, input.cols);
      for (std::int64_t row = 0; row < input.rows; ++row) {
        for (std::int64_t col = 0; col < input.cols; ++col) {
          rows(row, col) = static_cast<double>(input(row, col));
        }
      }
      rows_.insert_or_assign({layer, role}, std::move(rows));
    };
    pass.run(windows, observer, test_compute());
  }

  const Matrix<double>& rows(std::int64_t layer, Role role) const {
    return rows_.at({layer, role});
  }

  /// The mean of x xᵀ over (x, 1), the input of queries, keys and values with their biases.
  Matrix<double> attention_moments(std::int64_t layer) const {
    const Matrix<double>& x = rows(layer, Role::query);
    const std::int64_t n = x.cols();
    Matrix<double> out = zero_matrix(n + 1, n + 1);
    const auto element = [&](std::int64_t row, std::int64_t col) {
      return col == n ? 1 : x(row, col);
    };
    for (std::int64_t row = 0; row < x.rows(); ++row) {
      for (std::int64_t a = 0; a <= n; ++a) {
        for (std::int64_t b = 0; b <= n; ++b) {
          out(a, b) += element(row, a) * element(row, b) / static_cast<double>(x.rows());
        }
      }
    }
    return out;
  }

  /// Weight of shape (rows, inputs + 1), whose last column is the bias.
  Matrix<double> joined(std::int64_t layer, Role role) const {
    const Matrix<double> weight = canonical_matrix(model_, layer, role);
    const std::vector<double> bias = canonical_bias(model_, layer, role);
    Matrix<double> out(weight.rows(), weight.cols() + 1);
    for (std::int64_t row = 0; row < out.rows(); ++row) {
      for (std::int64_t col = 0; col < weight.cols(); ++col) out(row, col) = weight(row, col);
      out(row, weight.cols()) = bias.empty() ? 0 : bias[static_cast<std::size_t>(row)];
    }
    return out;
  }

  const Model& model() const { return model_; }

 private:
  const Model& model_;
  std::map<std::pair<std::int64_t, Role>, Matrix<double>> rows_;
};

/// Mean of a bᵀ over the outputs a and b of two matrices: A G Bᵀ.
inline Matrix<double> mean_outer(MatrixView<const double> a, const Matrix<double>& moments,
                                 MatrixView<const double> b) {
  const Matrix<double> read = naive_product(a, moments.view());
  return naive_product(read.view(), b.transposed());
}

/// Values of `merged` adjacent heads, with biases as a column, projected onto the `size` directions
/// with the most energy after W_O.
inline Matrix<double> plainly_narrowed_values(const PlainText& text, std::int64_t layer,
                                              std::int64_t merged, std::int64_t size) {
  const HeadShape& heads = text.model().dimensions().heads;
  const std::int64_t own = heads.value_dim, together = merged * own;
  const Matrix<double> value = text.joined(layer, Role::value);
  const Matrix<double> output = canonical_matrix(text.model(), layer, Role::output);
  const Matrix<double> moments = text.attention_moments(layer);
  Matrix<double> out(value.rows(), value.cols());
  for (std::int64_t first = 0; first < heads.kv_heads; first += merged) {
    Matrix<double> weighted = zero_matrix(together, value.cols()),
                   undo = zero_matrix(own, together);
    for (std::int64_t at = 0; at < merged; ++at) {
      Matrix<double> squares = zero_matrix(own, own);
      for (std::int64_t head = 0; head < heads.heads; ++head) {
        if (heads.kv_head(head) != first + at) continue;
        const auto reader = output.view().col_block(head * own, own);
        const Matrix<double> square = naive_product(reader.transposed(), reader);
        for (std::int64_t e = 0; e < own * own; ++e) squares.data()[e] += square.data()[e];
      }
      const JacobiVectors vectors = jacobi_vectors(std::move(squares));
      const Matrix<double> root = function_of(vectors, [](double x) { return std::sqrt(x); });
      const Matrix<double> inverse =
          function_of(vectors, [](double x) { return 1 / std::sqrt(x); });
      const Matrix<double> rows =
          naive_product(root.view(), value.view().row_block((first + at) * own, own));
      for (std::int64_t row = 0; row < own; ++row) {
        std::copy_n(&rows(row, 0), value.cols(), &weighted(at * own + row, 0));
        std::copy_n(&inverse(row, 0), own, &undo(row, at * own));
      }
    }
    const JacobiVectors directions =
        jacobi_vectors(mean_outer(weighted.view(), moments, weighted.view()));
    const auto basis = directions.vectors.view().row_block(0, size);
    const Matrix<double> along = naive_product(basis, weighted.view());
    const Matrix<double> part = naive_product(basis.transposed(), along.view());
    for (std::int64_t at = 0; at < merged; ++at) {
      const Matrix<double> rows =
          naive_product(undo.view().col_block(at * own, own), part.view().row_block(at * own, own));
      std::copy_n(rows.data(), own * value.cols(), &out((first + at) * own, 0));
    }
  }
  return out;
}

}  // namespace attnscope::test
