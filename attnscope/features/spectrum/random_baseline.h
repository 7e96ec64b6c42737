// Random baseline of spectra: energy ranks expected of a Gaussian matrix.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace attnscope {

/// Origin of a spectrum: a matrix (rows, cols), or a product leftᵀ · right of that shape.
struct SpectrumShape {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t inner = 0;  // rows of both factors of a product; 0: no product

  /// k, the maximum possible rank.
  std::int64_t max_possible_rank() const;
};

/// Energy curve of independent Gaussian entries, in the limit of large shapes: a matrix, or a
/// product of two such factors. Matrix: squared singular values follow Marchenko & Pastur 1967;
/// both integrals have closed forms. Product: the free multiplicative convolution of two such laws
/// (Voiculescu 1987). Its transform z(λ) solves λ z = (1 + z)(1 + α z)(1 + β z) with α = inner /
/// rows and β = inner / columns. It is integrated numerically along the curve on which λ is real.
class RandomBaseline {
 public:
  explicit RandomBaseline(const SpectrumShape& shape);

  /// The smallest r for which the largest r singular values are expected to have `threshold` of the
  /// energy; none for an empty shape.
  std::optional<std::int64_t> energy_rank(double threshold) const;

  /// The expected share of the energy in the largest `rank` singular values.
  std::optional<double> energy_at(std::int64_t rank) const;

  /// The k expected singular values, descending, of a matrix with that Frobenius norm. The i-th has
  /// the energy of the law between the shares (i − 1) / k and i / k of all values. So the squares
  /// of the first r add up to energy_at(r) · norm².
  std::vector<double> singular_values(double frobenius_norm) const;

 private:
  /// Shares of all singular values, counted from the largest, and of their energy. Both increase
  /// with `angle` from 0 to pi.
  struct Point {
    double rank = 0;
    double energy = 0;
  };
  Point matrix_point(double angle) const;
  Point matrix_step(double from, double to) const;
  Point law_step(double from, double to) const;
  /// The angle up to which the law has `wanted` values, counted from `from`; at most `to`.
  double angle_of_rank(double wanted, double from, double to) const;
  Point product_step(double from, double to) const;
  Point point_where(double Point::*measure, double wanted) const;

  std::int64_t possible_ = 0;
  bool is_product_ = false;
  double ratio_ = 0;           // beta: short / long side; for a product inner / columns
  double row_ratio_ = 0;       // for a product: inner / rows
  std::vector<Point> points_;  // for a product: at equal angle steps, including both ends
};

}  // namespace attnscope
