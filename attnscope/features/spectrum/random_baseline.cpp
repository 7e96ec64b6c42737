#include "attnscope/features/spectrum/random_baseline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>

namespace attnscope {
namespace {

using std::numbers::pi;

constexpr std::size_t kPanels = 64;

/// Gauss-Legendre nodes on [-1, 1] and their weights. An open rule, because the density of a square
/// product is undefined at the end of the angle range.
constexpr std::array<std::pair<double, double>, 4> kNodes = {{
    {-0.8611363115940526, 0.34785484513745385},
    {-0.3399810435848563, 0.6521451548625461},
    {0.3399810435848563, 0.6521451548625461},
    {0.8611363115940526, 0.34785484513745385},
}};

}  // namespace

std::int64_t SpectrumShape::max_possible_rank() const {
  const std::int64_t side = std::min(rows, cols);
  return inner == 0 ? side : std::min(side, inner);
}

RandomBaseline::RandomBaseline(const SpectrumShape& shape)
    : possible_(shape.max_possible_rank()), is_product_(shape.inner != 0) {
  if (possible_ == 0) return;
  if (!is_product_) {
    ratio_ = static_cast<double>(possible_) / static_cast<double>(std::max(shape.rows, shape.cols));
    return;
  }
  ratio_ = static_cast<double>(shape.inner) / static_cast<double>(shape.cols);
  row_ratio_ = static_cast<double>(shape.inner) / static_cast<double>(shape.rows);
  const double step = pi / static_cast<double>(kPanels);
  points_.resize(1);
  for (std::size_t panel = 0; panel < kPanels; ++panel) {
    const double from = static_cast<double>(panel) * step;
    const Point more = product_step(from, from + step);
    points_.push_back({points_.back().rank + more.rank, points_.back().energy + more.energy});
  }
  // The law has `inner` values; if a side is shorter, the remaining values are zero.
  const Point total = points_.back();
  for (Point& point : points_) {
    point.rank /= total.rank;
    point.energy /= total.energy;
  }
}

/// Eigenvalues are λ = 1 + β + 2 √β cos(angle), with the largest at angle 0. Their density is
/// sqrt((λ_max - λ)(λ - λ_min)) / (2 π β λ); its integrals with and without λ are elementary.
RandomBaseline::Point RandomBaseline::matrix_point(double angle) const {
  const double root = std::sqrt(ratio_), sine = std::sin(angle), cosine = std::cos(angle);
  const double rotated = std::atan2(root * sine, 1 + root * cosine);
  return {.rank = (angle - sine / root + (1 - ratio_) * rotated / ratio_) / pi,
          .energy = (angle - sine * cosine) / pi};
}

/// With z = e^{i angle} / u, λ is real if u³ - p u - q = 0, p = αβ + α + β, q = 2 αβ cos(angle).
/// The largest of the three real roots belongs to the density, which is -Im z / (π λ).
RandomBaseline::Point RandomBaseline::product_step(double from, double to) const {
  const double a = row_ratio_, b = ratio_, p = a * b + (a + b);
  Point sum;
  for (const auto& [node, weight] : kNodes) {
    const double angle = (from + to) / 2 + node * (to - from) / 2;
    const double q = 2 * a * b * std::cos(angle);
    const double cosine = std::clamp(1.5 * q / p * std::sqrt(3 / p), -1.0, 1.0);
    const double u = 2 * std::sqrt(p / 3) * std::cos(std::acos(cosine) / 3);
    const double slope = -2 * a * b * std::sin(angle) / (3 * u * u - p);  // du / dangle
    const std::complex<double> z = std::polar(1 / u, angle);
    const std::complex<double> z_slope = z * std::complex<double>(-slope / u, 1);
    const double log_slope =
        std::real((1.0 / (1.0 + z) + (a / (1.0 + a * z) + b / (1.0 + b * z)) - 1.0 / z) * z_slope);
    const double sides = std::sqrt(std::norm(1.0 + a * z) * std::norm(1.0 + b * z));
    const double value = sides * std::abs(1.0 + z) / std::abs(z);  // λ
    const double count = -std::imag(z) / pi * log_slope * weight * (to - from) / 2;
    sum.rank += count;
    sum.energy += count * value;
  }
  return sum;
}

RandomBaseline::Point RandomBaseline::point_where(double Point::*measure, double wanted) const {
  double from = 0, to = pi;
  Point start;
  if (is_product_) {
    const auto above = std::find_if(points_.begin() + 1, points_.end() - 1,
                                    [&](const Point& point) { return point.*measure >= wanted; });
    start = *(above - 1);
    to = pi * static_cast<double>(above - points_.begin()) / static_cast<double>(kPanels);
    from = to - pi / static_cast<double>(kPanels);
  }
  const double first = from;
  const auto point_at = [&](double angle) {
    if (!is_product_) return matrix_point(angle);
    const Point more = product_step(first, angle);
    // Values of the law beyond the maximum possible rank are zero, so shares refer to the possible
    // values.
    const double counted = std::max({1.0, ratio_, row_ratio_});
    return Point{start.rank + more.rank * counted, start.energy + more.energy};
  };
  constexpr int kBisections = 50;
  for (int step = 0; step < kBisections; ++step) {
    const double middle = (from + to) / 2;
    (point_at(middle).*measure < wanted ? from : to) = middle;
  }
  return point_at(to);
}

/// The densities of matrix_point, integrated: 2 sin² / π for the energy, divided by λ for the
/// count.
RandomBaseline::Point RandomBaseline::matrix_step(double from, double to) const {
  Point sum;
  for (const auto& [node, weight] : kNodes) {
    const double angle = (from + to) / 2 + node * (to - from) / 2;
    const double sine = std::sin(angle);
    // 1 + β + 2 √β cos(angle), whose terms cancel at the end of the angle range.
    const double root = std::sqrt(ratio_), cosine = std::cos(angle / 2);
    const double value = (1 - root) * (1 - root) + 4 * root * cosine * cosine;
    const double energy = 2 * sine * sine / pi * weight * (to - from) / 2;
    sum.energy += energy;
    sum.rank += energy / value;
  }
  return sum;
}

RandomBaseline::Point RandomBaseline::law_step(double from, double to) const {
  return is_product_ ? product_step(from, to) : matrix_step(from, to);
}

std::optional<std::int64_t> RandomBaseline::energy_rank(double threshold) const {
  if (possible_ == 0) return std::nullopt;
  const double rank = point_where(&Point::energy, threshold).rank * static_cast<double>(possible_);
  constexpr double kRounding = 1e-9;
  return std::clamp(static_cast<std::int64_t>(std::ceil(rank * (1 - kRounding))), std::int64_t{1},
                    possible_);
}

std::optional<double> RandomBaseline::energy_at(std::int64_t rank) const {
  if (possible_ == 0) return std::nullopt;
  if (rank >= possible_) return 1;
  return std::min(
      point_where(&Point::rank, static_cast<double>(rank) / static_cast<double>(possible_)).energy,
      1.0);
}

std::vector<double> RandomBaseline::singular_values(double frobenius_norm) const {
  // Shorter panels at the end of the angle range, where the density of a square product has a pole.
  constexpr std::size_t kSteps = 256;
  std::vector<double> angles = {0};
  std::vector<Point> sums(1);
  for (std::size_t step = 1; step <= kSteps; ++step) {
    const double left = 1 - static_cast<double>(step) / static_cast<double>(kSteps);
    angles.push_back(pi * (1 - left * left * left));
    const Point more = law_step(angles[step - 1], angles[step]);
    sums.push_back({sums.back().rank + more.rank, sums.back().energy + more.energy});
  }
  const auto count = static_cast<std::size_t>(possible_);
  const Point total = sums.back();
  std::vector<double> values;
  values.reserve(count);
  double angle = 0;
  std::size_t panel = 0;  // angle lies in angles[panel], angles[panel + 1]
  for (std::size_t index = 1; index <= count; ++index) {
    double energy = 0, next = pi;
    const double wanted = total.rank * static_cast<double>(index) / static_cast<double>(count);
    std::size_t last = kSteps - 1;
    if (index < count) {
      for (last = panel; last + 1 < kSteps && sums[last + 1].rank < wanted;) ++last;
      next = angle_of_rank(wanted - sums[last].rank, angles[last], angles[last + 1]);
    }
    if (last == panel) {
      energy = law_step(angle, next).energy;
    } else {
      energy = law_step(angle, angles[panel + 1]).energy + sums[last].energy -
               sums[panel + 1].energy + law_step(angles[last], next).energy;
    }
    values.push_back(frobenius_norm * std::sqrt(std::max(energy, 0.0) / total.energy));
    angle = next;
    panel = last;
  }
  return values;
}

double RandomBaseline::angle_of_rank(double wanted, double from, double to) const {
  double low = from, high = to, low_rank = 0, high_rank = law_step(from, to).rank;
  double angle = to;
  constexpr int kMax = 60;
  for (int step = 0; step < kMax && high - low > 1e-15 * to; ++step) {
    // Bisects if interpolation makes no progress, and in every third step.
    const double share = (wanted - low_rank) / (high_rank - low_rank);
    angle = step % 3 != 2 && share > 0 && share < 1 ? low + share * (high - low) : (low + high) / 2;
    const double rank = law_step(from, angle).rank;
    if (std::abs(rank - wanted) <= 1e-15) break;
    (rank < wanted ? low : high) = angle;
    (rank < wanted ? low_rank : high_rank) = rank;
  }
  return angle;
}

}  // namespace attnscope
