// What a matrix of random numbers would need: the null beside every energy rank.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace attnscope {

/// Where a spectrum comes from: a matrix (rows, cols), or a product leftᵀ · right of that shape.
struct SpectrumShape {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t inner = 0;  // of a product: the rows of both factors; 0: no product

  /// k, the largest rank there can be.
  std::int64_t max_possible_rank() const;
};

/// The energy curve of independent Gaussian entries, in the limit of large shapes: a matrix of
/// them, or the product of two such factors.
///
/// A matrix: squared singular values follow Marchenko & Pastur 1967, with closed forms for both
/// integrals. A product: the free multiplicative convolution of two such laws (Voiculescu 1987),
/// whose transform z(λ) solves λ z = (1 + z)(1 + α z)(1 + β z) with α = inner / rows and β = inner
/// / columns; integrated numerically along the curve on which λ is real.
class RandomBaseline {
 public:
  explicit RandomBaseline(const SpectrumShape& shape);

  /// Smallest r whose largest r singular values are expected to hold `threshold` of the energy;
  /// nothing for an empty shape.
  std::optional<std::int64_t> energy_rank(double threshold) const;

  /// The share of the energy that the largest `rank` singular values are expected to hold.
  std::optional<double> energy_at(std::int64_t rank) const;

  /// The k expected singular values, descending, of a matrix of that Frobenius norm: the i-th holds
  /// the energy that the law has between the shares (i − 1) / k and i / k of all values, so that
  /// the squares of the first r add up to energy_at(r) · norm².
  std::vector<double> singular_values(double frobenius_norm) const;

 private:
  /// Shares of all singular values, counted from the largest, and of their energy; both rise with
  /// `angle` from 0 to pi.
  struct Point {
    double rank = 0;
    double energy = 0;
  };
  Point matrix_point(double angle) const;
  Point matrix_step(double from, double to) const;
  Point law_step(double from, double to) const;
  /// Up to which angle the law counts `wanted` from `from`; at most `to`.
  double angle_of_rank(double wanted, double from, double to) const;
  Point product_step(double from, double to) const;
  Point point_where(double Point::*measure, double wanted) const;

  std::int64_t possible_ = 0;
  bool is_product_ = false;
  double ratio_ = 0;           // beta: short / long side; of a product inner / columns
  double row_ratio_ = 0;       // of a product inner / rows
  std::vector<Point> points_;  // of a product: at equal steps of the angle, both ends included
};

}  // namespace attnscope
