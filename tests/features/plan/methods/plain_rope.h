// Reference implementation for the rotary keys of two heads. See plain_low_rank_fit.h.
#pragma once

#include <array>
#include <complex>

#include "tests/features/common/calibration/plain_low_rank_fit.h"

namespace attnscope::test {

/// Rotary pair f of both key heads as complex numbers κ_g = k_f + i k_{f + d/2}. The struct has the
/// eigenvalues and the first eigenvector of E y yᴴ, with y_g = w_g κ_g. The weight w_g is the
/// square root of E|q_hf|², summed over the query heads h that use key head g.
struct PlainPair {
  std::array<double, 2> weights = {}, energies = {};  // energies are in descending order
  std::array<std::complex<double>, 2> first = {};     // eigenvector of the larger energy
};

inline PlainPair plain_pair(const PlainText& text, std::int64_t layer, std::int64_t pair) {
  using Complex = std::complex<double>;
  const HeadShape& heads = text.model().dimensions().heads;
  EXPECT_EQ(heads.kv_heads, 2);
  const std::int64_t d = heads.head_dim;
  const Matrix<double> moments = text.attention_moments(layer);
  const Matrix<double> query = text.joined(layer, Role::query), key = text.joined(layer, Role::key);
  const Matrix<double> queries = mean_outer(query.view(), moments, query.view());
  const Matrix<double> keys = mean_outer(key.view(), moments, key.view());
  PlainPair out;
  for (std::int64_t head = 0; head < heads.heads; ++head) {
    const std::int64_t real = head * d + pair, imaginary = real + d / 2;
    out.weights[static_cast<std::size_t>(heads.kv_head(head))] +=
        queries(real, real) + queries(imaginary, imaginary);
  }
  for (double& weight : out.weights) weight = std::sqrt(weight);
  const auto product = [&](std::size_t a, std::size_t b) {
    const std::int64_t left = static_cast<std::int64_t>(a) * d + pair;
    const std::int64_t right = static_cast<std::int64_t>(b) * d + pair;
    return out.weights[a] * out.weights[b] *
           Complex(keys(left, right) + keys(left + d / 2, right + d / 2),
                   keys(left + d / 2, right) - keys(left, right + d / 2));
  };
  // The eigenvalues of a Hermitian matrix (2, 2).
  const double a = product(0, 0).real(), c = product(1, 1).real();
  const Complex b = product(0, 1);
  const double middle = (a + c) / 2, away = std::hypot((a - c) / 2, std::abs(b));
  out.energies = {middle + away, middle - away};
  out.first = a > c ? std::array<Complex, 2>{out.energies[0] - c, std::conj(b)}
                    : std::array<Complex, 2>{b, out.energies[0] - a};
  const double length = std::hypot(std::abs(out.first[0]), std::abs(out.first[1]));
  for (Complex& element : out.first) element /= length;
  return out;
}

/// Keys, with biases as a column, reduced to 0, 1 or 2 components of each pair.
inline Matrix<double> plainly_kept_keys(const PlainText& text, std::int64_t layer,
                                        const Numbers& components) {
  const std::int64_t half = text.model().dimensions().heads.head_dim / 2;
  const Matrix<double> key = text.joined(layer, Role::key);
  Matrix<double> out = zero_matrix(key.rows(), key.cols());
  for (std::int64_t pair = 0; pair < half; ++pair) {
    const std::int64_t count = components[static_cast<std::size_t>(pair)];
    const PlainPair own = plain_pair(text, layer, pair);
    const auto row_of = [&](std::size_t group) {
      return 2 * half * static_cast<std::int64_t>(group) + pair;
    };
    for (std::int64_t col = 0; col < key.cols(); ++col) {
      const auto kappa = [&](std::size_t group) {
        return std::complex(key(row_of(group), col), key(row_of(group) + half, col));
      };
      const std::complex<double> along = std::conj(own.first[0]) * own.weights[0] * kappa(0) +
                                         std::conj(own.first[1]) * own.weights[1] * kappa(1);
      for (const std::size_t group : {0u, 1u}) {
        const std::complex<double> left =
            count == 2 ? kappa(group)
                       : static_cast<double>(count) * own.first[group] * along / own.weights[group];
        out(row_of(group), col) = left.real();
        out(row_of(group) + half, col) = left.imag();
      }
    }
  }
  return out;
}

/// The number of components of each pair among the `count` largest. Energies are normalized per
/// layer and summed over layers.
inline Numbers plainly_chosen_components(const PlainText& text, std::int64_t count) {
  const Dimensions& dimensions = text.model().dimensions();
  const std::int64_t half = dimensions.heads.head_dim / 2;
  std::vector<double> shares(static_cast<std::size_t>(2 * half), 0.0);
  for (std::int64_t layer = 0; layer < dimensions.layers; ++layer) {
    std::vector<double> own;
    double sum = 0;
    for (std::int64_t pair = 0; pair < half; ++pair) {
      for (const double energy : plain_pair(text, layer, pair).energies) {
        own.push_back(energy);
        sum += energy;
      }
    }
    for (std::size_t at = 0; at < own.size(); ++at) shares[at] += own[at] / sum;
  }
  std::vector<double> sorted = shares;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const double least = sorted[static_cast<std::size_t>(count - 1)];
  Numbers out(static_cast<std::size_t>(half), 0);
  for (std::size_t at = 0; at < shares.size(); ++at) out[at / 2] += shares[at] >= least ? 1 : 0;
  return out;
}

}  // namespace attnscope::test
