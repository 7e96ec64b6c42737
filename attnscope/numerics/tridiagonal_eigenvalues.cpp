#include "attnscope/numerics/tridiagonal_eigenvalues.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "attnscope/numerics/kernels/kernels.h"
#include "attnscope/numerics/parts.h"

namespace attnscope {
namespace {

using kernels::kSturmShifts;

/// Of a matrix of norm at most 1.
constexpr double kTolerance = 0x1p-51;
/// A coupling below the rounding of the norm changes nothing, and zero would end the sequences.
constexpr double kLeastSquaredCoupling = 1e-36;
/// Batches of points that are worth another thread.
constexpr std::size_t kBatchesPerPart = 4;

/// The characteristic polynomial at a point, and how many eigenvalues lie below it.
struct Sample {
  double mantissa = 0;
  std::int64_t exponent = 0;
  std::int64_t below = 0;
};

/// Holds the eigenvalues numbered low.below … high.below − 1.
struct Bracket {
  double left, right;
  Sample at_left, at_right;
  double first_width = 0;  // when it came to hold one eigenvalue only
  int steps = 0;           // since then

  double width() const { return right - left; }
  bool single() const { return at_right.below - at_left.below == 1; }
};

struct Tridiagonal {
  std::vector<double> diagonal, off_squared;  // off_squared[i] couples i − 1 and i
};

void evaluate(const Tridiagonal& matrix, std::vector<double>& points,
              std::vector<Sample>& samples) {
  const std::size_t count = points.size();
  const std::size_t batches = (count + kSturmShifts - 1) / kSturmShifts;
  points.resize(batches * kSturmShifts, 0.0);
  samples.resize(batches * kSturmShifts);
  const auto batch = [&](std::size_t index) {
    const std::size_t first = index * kSturmShifts;
    double mantissa[kSturmShifts];
    std::int64_t exponent[kSturmShifts], below[kSturmShifts];
    kernels::sturm_sequences(matrix.diagonal.data(), matrix.off_squared.data(),
                             matrix.diagonal.size(), points.data() + first, mantissa, exponent,
                             below);
    for (std::size_t at = 0; at < kSturmShifts; ++at) {
      samples[first + at] = {mantissa[at], exponent[at], below[at]};
    }
  };
  const std::size_t parts = (batches + kBatchesPerPart - 1) / kBatchesPerPart;
  run_parts(parts, [&](std::size_t part) {
    const std::size_t last = std::min((part + 1) * kBatchesPerPart, batches);
    for (std::size_t index = part * kBatchesPerPart; index < last; ++index) batch(index);
  });
  points.resize(count);
  samples.resize(count);
}

/// Where a straight line between the two samples crosses zero, as a share of the bracket.
double crossing_share(const Sample& left, const Sample& right) {
  constexpr std::int64_t kVanished = -2000;
  const std::int64_t top = std::max(left.exponent, right.exponent);
  const auto magnitude = [&](const Sample& sample) {
    const std::int64_t exponent = std::max(sample.exponent - top, kVanished);
    return std::abs(std::ldexp(sample.mantissa, static_cast<int>(exponent)));
  };
  const double at_left = magnitude(left), at_right = magnitude(right);
  return at_left + at_right > 0 ? at_left / (at_left + at_right) : 0.5;
}

/// The next point to look at: the middle while there are several eigenvalues, then the choice of
/// interpolate-truncate-project, which takes few steps on average and one more than bisection at
/// most. Source: Oliveira & Takahashi, ACM TOMS 47, 2021.
double next_point(Bracket& bracket) {
  const double width = bracket.width(), middle = bracket.left + width / 2;
  if (!bracket.single()) return middle;
  if (bracket.steps == 0) bracket.first_width = width;
  const double crossing =
      bracket.left + width * crossing_share(bracket.at_left, bracket.at_right);
  const double toward = middle >= crossing ? 1 : -1;
  const double shift = std::max(0.2 * width * width / bracket.first_width, kTolerance / 4);
  const double truncated =
      shift <= std::abs(middle - crossing) ? crossing + toward * shift : middle;
  const double radius =
      std::max(0.0, std::ldexp(bracket.first_width, 1 - bracket.steps) - width / 2);
  ++bracket.steps;
  const double projected =
      std::abs(truncated - middle) <= radius ? truncated : middle - toward * radius;
  return std::clamp(projected, bracket.left + kTolerance / 8, bracket.right - kTolerance / 8);
}

}  // namespace

std::vector<double> tridiagonal_eigenvalues(std::span<const double> diagonal,
                                            std::span<const double> off_diagonal) {
  const std::size_t n = diagonal.size();
  // Gershgorin's circles hold every eigenvalue.
  double lowest = 0, highest = 0;
  for (std::size_t at = 0; at < n; ++at) {
    const double radius = (at > 0 ? std::abs(off_diagonal[at - 1]) : 0) +
                          (at + 1 < n ? std::abs(off_diagonal[at]) : 0);
    lowest = std::min(lowest, diagonal[at] - radius);
    highest = std::max(highest, diagonal[at] + radius);
  }
  std::vector<double> values(n, 0.0);
  const double norm = std::max(highest, -lowest);
  if (norm == 0) return values;
  int exponent = 0;
  std::frexp(norm, &exponent);

  Tridiagonal matrix;
  for (std::size_t at = 0; at < n; ++at) {
    matrix.diagonal.push_back(std::ldexp(diagonal[at], -exponent));
    const double coupling = at > 0 ? std::ldexp(off_diagonal[at - 1], -exponent) : 0;
    matrix.off_squared.push_back(std::max(coupling * coupling, kLeastSquaredCoupling));
  }
  Bracket whole{.left = std::ldexp(lowest, -exponent) - kTolerance,
                .right = std::ldexp(highest, -exponent) + kTolerance};
  std::vector<double> points = {whole.left, whole.right};
  std::vector<Sample> samples;
  evaluate(matrix, points, samples);
  whole.at_left = samples[0];
  whole.at_right = samples[1];
  whole.at_left.below = 0;
  whole.at_right.below = static_cast<std::int64_t>(n);

  std::vector<Bracket> brackets = {whole}, halves;
  while (!brackets.empty()) {
    points.clear();
    for (Bracket& bracket : brackets) points.push_back(next_point(bracket));
    evaluate(matrix, points, samples);
    halves.clear();
    for (std::size_t at = 0; at < brackets.size(); ++at) {
      const Bracket& bracket = brackets[at];
      Sample sample = samples[at];
      sample.below = std::clamp(sample.below, bracket.at_left.below, bracket.at_right.below);
      Bracket left = bracket, right = bracket;
      left.right = right.left = points[at];
      left.at_right = right.at_left = sample;
      for (Bracket* half : {&left, &right}) {
        const std::int64_t first = half->at_left.below, last = half->at_right.below;
        if (first == last) continue;
        if (half->width() > kTolerance) {
          halves.push_back(*half);
          continue;
        }
        const double value = std::ldexp(half->left + half->width() / 2, exponent);
        std::fill(values.begin() + first, values.begin() + last, value);
      }
    }
    brackets.swap(halves);
  }
  return values;
}

}  // namespace attnscope
