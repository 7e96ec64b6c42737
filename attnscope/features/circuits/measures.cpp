#include "attnscope/features/circuits/measures.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/spectrum/measures.h"
#include "attnscope/numerics/svd/singular_values.h"

namespace attnscope {
namespace {

/// Sums of eigenvalues up to this limit are treated as zero with rounding errors.
double rounding_of(const ProductFactor& left, const ProductFactor& right, std::size_t count) {
  return 4 * static_cast<double>(count) * std::numeric_limits<double>::epsilon() *
         left.singular_values.front() * right.singular_values.front();
}

double trace(const Matrix<double>& square) {
  double sum = 0;
  for (std::int64_t row = 0; row < square.rows(); ++row) sum += square(row, row);
  return sum;
}

/// tr(X X).
double trace_of_square(const Matrix<double>& x) {
  double sum = 0;
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    for (std::int64_t col = 0; col < row; ++col) sum += 2 * x(row, col) * x(col, row);
    sum += x(row, row) * x(row, row);
  }
  return sum;
}

/// sqrt(Σσ²) of descending `values`, scaled by the largest to avoid overflow.
double norm_of(std::span<const double> values) {
  if (values.empty() || values.front() == 0) return 0;
  double sum = 0;
  for (const double value : values) sum += (value / values.front()) * (value / values.front());
  return values.front() * std::sqrt(sum);
}

double in_range(double score) { return std::clamp(score, -1.0, 1.0); }

std::optional<double> positive_fraction(std::span<const double> eigenvalues, double rounding) {
  double positive = 0, all = 0;
  for (const double value : eigenvalues) {
    positive += std::max(value, 0.0);
    all += std::abs(value);
  }
  if (all <= rounding) return std::nullopt;
  return positive / all;
}

std::optional<double> copying_score(std::span<const std::complex<double>> eigenvalues,
                                    double rounding) {
  double real = 0, all = 0;
  for (const std::complex<double>& value : eigenvalues) {
    real += value.real();
    all += std::abs(value);
  }
  if (all <= rounding) return std::nullopt;
  return in_range(real / all);
}

/// The measures of a square M. `norm` is ‖M‖_F of the scaled factors. All values here are of the
/// scaled factors, except comparisons with I itself, which are multiplied by 2^`exponent`.
void add_square_measures(CircuitMeasures& out, const ProductFactor& left,
                         const ProductFactor& right, double norm, int exponent,
                         bool with_eigenvalues, const Compute& compute) {
  const auto side = static_cast<double>(left.rows.cols());
  out.identity_cosine_bound = std::sqrt(static_cast<double>(out.max_possible_rank) / side);
  const Matrix<double> head_space = head_space_product(left, right, compute);
  out.head_space_singular_values = singular_values(head_space.view(), compute).values;
  if (norm == 0) {
    out.identity_scale = 0;
    out.identity_residual = 1;
    return;
  }
  const double sum = trace(head_space);
  const double cosine = in_range(sum / (std::sqrt(side) * norm));
  const double scale = std::ldexp(sum / side, exponent);
  out.identity_cosine = cosine;
  out.identity_distance = std::sqrt((1 - cosine) * (1 + cosine));
  out.identity_scale = scale;
  // ‖M − I‖² = ‖M − α I‖² + (α − 1)² ‖I‖², since M − α I is orthogonal to I.
  out.identity_residual =
      std::hypot(out.frobenius_norm * *out.identity_distance / std::sqrt(side), scale - 1);
  out.symmetry = in_range(trace_of_square(head_space) / norm / norm);

  const std::vector<double> symmetric =
      symmetric_part_eigenvalues(left, right, head_space, compute);
  out.positive_fraction = positive_fraction(symmetric, rounding_of(left, right, symmetric.size()));
  if (!with_eigenvalues) return;
  const auto eigenvalues = factored_product_eigenvalues(left, right, head_space, compute);
  out.copying_score = copying_score(eigenvalues, rounding_of(left, right, eigenvalues.size()));
}

}  // namespace

CircuitMeasures measure_circuit(const ProductFactor& left, const ProductFactor& right,
                                bool with_eigenvalues, const Compute& compute) {
  const int exponent = left.exponent + right.exponent;
  CircuitMeasures out{.singular_values = factored_product_singular_values(left, right, compute),
                      .left_singular_values = left.singular_values,
                      .right_singular_values = right.singular_values};
  out.max_possible_rank = std::ssize(out.singular_values);
  const double norm = norm_of(out.singular_values);
  out.frobenius_norm = std::ldexp(norm, exponent);
  if (std::isinf(out.frobenius_norm)) {
    throw Error(ErrorKind::numerical, "circuit", "its norm overflows float64");
  }
  if (left.rows.cols() == right.rows.cols()) {
    add_square_measures(out, left, right, norm, exponent, with_eigenvalues, compute);
  }
  return out;
}

Record circuit_fields(const CircuitMeasures& measures, const FactorNames& names,
                      std::span<const double> thresholds) {
  Record ranks, factor_ranks, head_space_ranks, overlaps, head_space_overlaps;
  for (const double threshold : thresholds) {
    const std::string key = shortest_decimal(threshold);
    const std::int64_t rank = energy_rank(measures.singular_values, threshold);
    const std::int64_t left = energy_rank(measures.left_singular_values, threshold);
    const std::int64_t right = energy_rank(measures.right_singular_values, threshold);
    std::optional<std::int64_t> head_space;
    if (!measures.head_space_singular_values.empty()) {
      head_space = energy_rank(measures.head_space_singular_values, threshold);
    }
    ranks.add(key, rank);
    factor_ranks.add(key, Record{{names.left, left}, {names.right, right}});
    overlaps.add(key, right - rank);
    head_space_ranks.add(key, head_space);
    head_space_overlaps.add(key, head_space ? Value(left - *head_space) : Value());
  }
  return {{"energy_rank", std::move(ranks)},
          {"factor_rank", std::move(factor_ranks)},
          {"head_space_rank", std::move(head_space_ranks)},
          {"rank_drop", std::move(overlaps)},
          {"head_space_rank_drop", std::move(head_space_overlaps)},
          {"identity_cosine", measures.identity_cosine},
          {"identity_cosine_bound", measures.identity_cosine_bound},
          {"identity_distance", measures.identity_distance},
          {"identity_scale", measures.identity_scale},
          {"identity_residual", measures.identity_residual},
          {"symmetry", measures.symmetry},
          {"positive_fraction", measures.positive_fraction},
          {"copying_score", measures.copying_score},
          {"frobenius_norm", measures.frobenius_norm},
          {"max_possible_rank", measures.max_possible_rank}};
}

}  // namespace attnscope
