#include "attnscope/numerics/svd/tridiagonal_eigenvalues.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "attnscope/numerics/svd/kernels/kernels.h"

namespace attnscope {
namespace {

using kernels::kPoints;

/// Tolerance for a matrix of norm at most 1.
constexpr double kTolerance = 0x1p-50;
/// Lower limit of squared couplings. Smaller ones are below the rounding of the norm, and zero
/// would end the sequences.
constexpr double kLeastSquaredCoupling = 1e-36;
/// Minimum number of brackets per thread.
constexpr std::size_t kBracketsPerPart = 8 * kPoints;

/// The characteristic polynomial at a point, and the number of eigenvalues below it.
struct Sample {
  double point = 0, mantissa = 0;
  std::int64_t exponent = 0, below = 0;
};

/// Interval between two samples, with the eigenvalues left.below … right.below − 1.
struct Interval {
  Sample left, right;
};

/// Intervals with one eigenvalue each.
class SingleBrackets {
 public:
  std::size_t size() const { return size_; }

  /// Removes all intervals, and reserves memory for `most`.
  void clear(std::size_t most) {
    size_ = 0;
    if (left_.size() < most + kPoints) resize(most + kPoints);
  }

  void add(const Interval& interval) {
    const std::size_t at = size_++;
    const double width = interval.right.point - interval.left.point;
    left_[at] = interval.left.point;
    right_[at] = interval.right.point;
    left_mantissa_[at] = interval.left.mantissa;
    right_mantissa_[at] = interval.right.mantissa;
    left_exponent_[at] = interval.left.exponent;
    right_exponent_[at] = interval.right.exponent;
    index_[at] = interval.left.below;
    shift_factor_[at] = kernels::kShift / width;
    allowed_width_[at] = 4 * width;
  }

  /// Pads with copies of the last interval to whole batches of kPoints.
  void pad() {
    const std::size_t padded = (size_ + kPoints - 1) / kPoints * kPoints;
    for (std::size_t at = size_; at < padded; ++at) copy(size_ - 1, at);
  }

  /// Narrows intervals [first, last), a multiple of kPoints, until each is within the tolerance.
  /// Writes `unit` times each value.
  void find_values(const kernels::Tridiagonal& matrix, std::size_t first, std::size_t last,
                   double unit, std::vector<double>& values, const Compute& compute) {
    // Most intervals need about eight rounds. Finished intervals are removed after seven.
    int rounds = 7;
    while (first < last) {
      const std::size_t batches = (last - first + kPoints - 1) / kPoints;
      for (std::size_t batch = 0; batch < batches; batch += 2) {
        kernels::narrow_brackets(compute.kernels, matrix, view(), first + batch * kPoints,
                                 std::min<std::size_t>(2, batches - batch), rounds, kTolerance);
      }
      std::size_t kept = first;
      for (std::size_t at = first; at < last; ++at) {
        const double width = right_[at] - left_[at];
        if (width <= kTolerance) {
          values[static_cast<std::size_t>(index_[at])] = unit * (left_[at] + width / 2);
        } else {
          if (kept != at) copy(at, kept);
          ++kept;
        }
      }
      last = kept;
      rounds = 1;
    }
  }

 private:
  kernels::Brackets view() {
    return {left_.data(),           right_.data(),         left_mantissa_.data(),
            right_mantissa_.data(), left_exponent_.data(), right_exponent_.data(),
            index_.data(),          shift_factor_.data(),  allowed_width_.data()};
  }

  void resize(std::size_t count) {
    for (auto* array :
         {&left_, &right_, &left_mantissa_, &right_mantissa_, &shift_factor_, &allowed_width_}) {
      array->resize(count);
    }
    for (auto* array : {&left_exponent_, &right_exponent_, &index_}) array->resize(count);
  }

  void copy(std::size_t from, std::size_t to) {
    for (auto* array :
         {&left_, &right_, &left_mantissa_, &right_mantissa_, &shift_factor_, &allowed_width_}) {
      (*array)[to] = (*array)[from];
    }
    for (auto* array : {&left_exponent_, &right_exponent_, &index_}) (*array)[to] = (*array)[from];
  }

  std::size_t size_ = 0;
  std::vector<double> left_, right_, left_mantissa_, right_mantissa_, shift_factor_, allowed_width_;
  std::vector<std::int64_t> left_exponent_, right_exponent_, index_;
};

/// Buffers that are reused between matrices, because small matrices take no longer than their
/// allocations.
struct Search {
  std::vector<double> diagonal, off_squared;
  std::vector<Sample> samples;
  std::vector<Interval> several, next;  // intervals with several eigenvalues
  SingleBrackets single;

  kernels::Tridiagonal matrix() const {
    return {diagonal.data(), off_squared.data(), diagonal.size()};
  }
};

/// Evaluates each sample at its point.
void evaluate(const kernels::Tridiagonal& matrix, std::vector<Sample>& samples,
              const Compute& compute) {
  constexpr std::size_t kSamplesPerPart = kBracketsPerPart;
  const auto evaluate_part = [&](std::size_t part) {
    const std::size_t end = std::min((part + 1) * kSamplesPerPart, samples.size());
    for (std::size_t first = part * kSamplesPerPart; first < end; first += kPoints) {
      const std::size_t count = std::min(kPoints, end - first);
      double points[kPoints], mantissa[kPoints];
      std::int64_t exponent[kPoints], below[kPoints];
      for (std::size_t at = 0; at < kPoints; ++at) {
        points[at] = samples[first + std::min(at, count - 1)].point;
      }
      kernels::sturm_sequences(compute.kernels, matrix, points, mantissa, exponent, below);
      for (std::size_t at = 0; at < count; ++at) {
        samples[first + at] = {points[at], mantissa[at], exponent[at], below[at]};
      }
    }
  };
  run_parts(compute, (samples.size() + kSamplesPerPart - 1) / kSamplesPerPart, evaluate_part);
}

/// Discards an empty interval, or adds it to the values or to one of the searches.
void place(Search& search, const Interval& interval, double unit, std::vector<double>& values) {
  const std::int64_t first = interval.left.below, last = interval.right.below;
  if (first >= last) return;
  const double width = interval.right.point - interval.left.point;
  if (width <= kTolerance) {
    std::fill(values.begin() + first, values.begin() + last,
              unit * (interval.left.point + width / 2));
  } else if (last - first == 1) {
    search.single.add(interval);
  } else {
    search.next.push_back(interval);
  }
}

/// Splits the interval until each piece has one eigenvalue or is within the tolerance.
void isolate(Search& search, Interval whole, double unit, std::vector<double>& values,
             const Compute& compute) {
  search.single.clear(values.size());
  search.next.clear();
  place(search, whole, unit, values);
  while (!search.next.empty()) {
    search.several.swap(search.next);
    search.next.clear();
    // The cost of a batch does not depend on how many of its points are used.
    const std::size_t cuts = std::max<std::size_t>(1, kPoints / search.several.size());
    search.samples.clear();
    for (const Interval& interval : search.several) {
      const double step =
          (interval.right.point - interval.left.point) / static_cast<double>(cuts + 1);
      for (std::size_t cut = 1; cut <= cuts; ++cut) {
        search.samples.push_back({interval.left.point + step * static_cast<double>(cut)});
      }
    }
    evaluate(search.matrix(), search.samples, compute);
    const Sample* sample = search.samples.data();
    for (const Interval& interval : search.several) {
      Sample left = interval.left;
      for (std::size_t cut = 0; cut < cuts; ++cut) {
        Sample right = *sample++;
        right.below = std::clamp(right.below, left.below, interval.right.below);
        place(search, {left, right}, unit, values);
        left = right;
      }
      place(search, {left, interval.right}, unit, values);
    }
  }
}

}  // namespace

std::vector<double> tridiagonal_eigenvalues(std::span<const double> diagonal,
                                            std::span<const double> off_diagonal,
                                            const Compute& compute) {
  const std::size_t n = diagonal.size();
  // Gershgorin circles contain all eigenvalues.
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
  const double scale = std::ldexp(1.0, -exponent), unit = std::ldexp(1.0, exponent);

  // Scratch memory of the thread; it does not affect results.
  thread_local Search search;
  const std::size_t even = n + n % 2;
  search.diagonal.assign(even, 2.0);  // an added row changes no sign
  search.off_squared.assign(even, 0.0);
  for (std::size_t at = 0; at < n; ++at) {
    search.diagonal[at] = diagonal[at] * scale;
    const double coupling = at > 0 ? off_diagonal[at - 1] * scale : 0;
    search.off_squared[at] = std::max(coupling * coupling, kLeastSquaredCoupling);
  }
  search.samples.assign(2, {});
  search.samples[0].point = lowest * scale - kTolerance;
  search.samples[1].point = highest * scale + kTolerance;
  evaluate(search.matrix(), search.samples, compute);
  Interval whole{search.samples[0], search.samples[1]};
  whole.left.below = 0;
  whole.right.below = static_cast<std::int64_t>(n);

  isolate(search, whole, unit, values, compute);
  const std::size_t count = search.single.size();
  if (count > 0) search.single.pad();
  Search& found = search;  // thread_local: other threads must use this object
  run_parts(compute, (count + kBracketsPerPart - 1) / kBracketsPerPart, [&](std::size_t part) {
    const std::size_t first = part * kBracketsPerPart;
    found.single.find_values(found.matrix(), first, std::min(first + kBracketsPerPart, count), unit,
                             values, compute);
  });
  // Within a cluster, rounding may reverse the order of two values.
  if (!std::is_sorted(values.begin(), values.end())) std::sort(values.begin(), values.end());
  return values;
}

}  // namespace attnscope
