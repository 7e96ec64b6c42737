#include "attnscope/features/plan/methods/neuron_removal.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "attnscope/features/common/calibration/low_rank_fit.h"
#include "attnscope/numerics/products/dense_products.h"
#include "attnscope/numerics/products/second_moments.h"

namespace attnscope {
namespace {

constexpr std::int64_t kMaxSurgeon = 8192;

double squared_column(MatrixView<const double> matrix, std::int64_t col) {
  double sum = 0;
  for (std::int64_t row = 0; row < matrix.rows; ++row) sum += matrix(row, col) * matrix(row, col);
  return sum;
}

std::vector<std::int64_t> weakest(MatrixView<const double> down, MatrixView<const double> moments,
                                  std::int64_t count) {
  std::vector<std::pair<double, std::int64_t>> scores;
  for (std::int64_t neuron = 0; neuron < down.cols; ++neuron) {
    scores.emplace_back(moments(neuron, neuron) * squared_column(down, neuron), -neuron);
  }
  std::sort(scores.begin(), scores.end());
  std::vector<std::int64_t> out;
  for (std::int64_t at = 0; at < count; ++at) {
    out.push_back(-scores[static_cast<std::size_t>(at)].second);
  }
  return out;
}

Matrix<double> ridged_inverse(Matrix<double> moments) {
  const std::int64_t n = moments.rows();
  Matrix<double> identity(n, n);
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t col = 0; col < n; ++col) identity(row, col) = row == col ? 1 : 0;
  }
  constexpr double kRidge = 1e-6;
  return solve_ridged(std::move(moments), kRidge, std::move(identity));
}

/// out -= a bᵀ, (rows, cols) of (rows, k) and (cols, k).
void subtract_product(Matrix<double>& out, const Matrix<double>& a, MatrixView<const double> b,
                      const Compute& compute) {
  constexpr std::int64_t kRows = 256;
  const auto parts = static_cast<std::size_t>((out.rows() + kRows - 1) / kRows);
  run_parts(compute, parts, [&](std::size_t part) {
    const std::int64_t first = static_cast<std::int64_t>(part) * kRows;
    const std::int64_t count = std::min(kRows, out.rows() - first);
    const Matrix<double> own = multiply_transposed(a.view().row_block(first, count), b);
    double* const into = &out(first, 0);
    for (std::int64_t at = 0; at < count * out.cols(); ++at) into[at] -= own.data()[at];
  });
}

/// y -= factor x.
void subtract(std::vector<double>& y, double factor, const std::vector<double>& x) {
  for (std::size_t at = 0; at < y.size(); ++at) y[at] -= factor * x[at];
}

/// The update that a removed neuron causes for the others.
struct Removal {
  std::vector<double> column;   // H_:p
  std::vector<double> factors;  // H_:p / H_pp
  std::vector<double> output;   // W_:p
  std::vector<double>
      reads;  // product of this column with W_:j of every neuron, as stored in the matrices
};

/// The remaining neurons. A removal changes all of H and W. The matrices are updated in blocks of
/// removals by matrix products. Until then, only the values needed for the next removal are
/// computed.
class Surgeon {
 public:
  Surgeon(MatrixView<const double> down, Matrix<double> inverse, const Compute& compute)
      : compute_(compute), outputs_(down.cols, down.rows), inverse_(std::move(inverse)) {
    for (std::int64_t neuron = 0; neuron < down.cols; ++neuron) {
      neurons_.push_back(neuron);
      for (std::int64_t row = 0; row < down.rows; ++row) outputs_(neuron, row) = down(row, neuron);
    }
    recompute();
  }

  /// Returns the index of the removed neuron.
  std::int64_t remove_cheapest() {
    const auto place = static_cast<std::size_t>(cheapest());
    Removal own = removal_of(place);
    std::vector<double> cross = own.reads;  // W_:j · W_:p, both as they are now
    double square = 0;
    for (const double value : own.output) square += value * value;
    for (const Removal& before : removals_) {
      double shared = 0;
      for (std::size_t at = 0; at < own.output.size(); ++at) {
        shared += before.output[at] * own.output[at];
      }
      subtract(cross, shared, before.factors);
    }
    for (std::size_t at = 0; at < squares_.size(); ++at) {
      const double factor = own.factors[at];
      squares_[at] = std::max(0.0, squares_[at] + factor * (factor * square - 2 * cross[at]));
      diagonal_[at] -= factor * own.column[at];
    }
    gone_[place] = true;
    removals_.push_back(std::move(own));
    const std::int64_t number = neurons_[place];
    constexpr std::size_t kBlock = 64;
    if (removals_.size() == kBlock) follow();
    return number;
  }

 private:
  std::int64_t cheapest() const {
    double least = std::numeric_limits<double>::infinity();
    std::int64_t found = -1;
    for (std::size_t at = 0; at < neurons_.size(); ++at) {
      if (gone_[at]) continue;
      const double cost = squares_[at] / diagonal_[at];
      if (found < 0 || cost < least) {
        least = cost;
        found = static_cast<std::int64_t>(at);
      }
    }
    return found;
  }

  Removal removal_of(std::size_t place) const {
    const auto row_of = [&](const Matrix<double>& matrix) {
      const double* const row = &matrix(static_cast<std::int64_t>(place), 0);
      return std::vector<double>(row, row + matrix.cols());
    };
    Removal out{.column = row_of(inverse_),
                .factors = {},
                .output = row_of(outputs_),
                .reads = row_of(products_)};
    for (const Removal& before : removals_) {
      const double factor = before.factors[place];
      subtract(out.column, factor, before.column);
      subtract(out.output, factor, before.output);
      subtract(out.reads, factor, before.reads);
    }
    out.factors = out.column;
    for (double& factor : out.factors) factor /= out.column[place];
    return out;
  }

  /// Applies the pending removals to the matrices and keeps only the remaining neurons.
  void follow() {
    products_ = {};  // recomputed below
    std::vector<std::int64_t> left;
    for (std::size_t at = 0; at < neurons_.size(); ++at) {
      if (!gone_[at]) left.push_back(static_cast<std::int64_t>(at));
    }
    const auto count = std::ssize(removals_);
    Matrix<double> factors(std::ssize(left), count), columns(std::ssize(left), count);
    Matrix<double> output(count, outputs_.cols());
    for (std::int64_t removal = 0; removal < count; ++removal) {
      const Removal& own = removals_[static_cast<std::size_t>(removal)];
      for (std::int64_t at = 0; at < std::ssize(left); ++at) {
        const auto from = static_cast<std::size_t>(left[static_cast<std::size_t>(at)]);
        factors(at, removal) = own.factors[from];
        columns(at, removal) = own.column[from];
      }
      std::copy(own.output.begin(), own.output.end(), &output(removal, 0));
    }
    outputs_ = rows_of(outputs_.view(), left);
    inverse_ = columns_of(rows_of(inverse_.view(), left).view(), left);
    subtract_product(outputs_, factors, output.view().transposed(), compute_);
    subtract_product(inverse_, factors, columns.view(), compute_);
    std::vector<std::int64_t> numbers;
    for (const std::int64_t at : left) numbers.push_back(neurons_[static_cast<std::size_t>(at)]);
    neurons_ = std::move(numbers);
    removals_.clear();
    recompute();
  }

  void recompute() {
    products_ = columns_gram(outputs_.view().transposed(), compute_);
    gone_.assign(neurons_.size(), false);
    squares_.clear();
    diagonal_.clear();
    for (std::int64_t at = 0; at < std::ssize(neurons_); ++at) {
      squares_.push_back(products_(at, at));
      diagonal_.push_back(inverse_(at, at));
    }
  }

  const Compute& compute_;
  Matrix<double> outputs_;   // (F, m): row j is column j of W_down
  Matrix<double> inverse_;   // H, (F, F)
  Matrix<double> products_;  // W_:i · W_:j, (F, F)
  std::vector<std::int64_t> neurons_;
  std::vector<bool> gone_;
  std::vector<double> squares_, diagonal_;  // ‖W_:j‖² and H_jj as they are now
  std::vector<Removal> removals_;           // not applied to the matrices yet
};

}  // namespace

std::vector<std::int64_t> neurons_to_remove(MatrixView<const double> down, Matrix<double> moments,
                                            std::int64_t count, const Compute& compute) {
  if (down.cols > kMaxSurgeon) return weakest(down, moments.view(), count);
  Surgeon surgeon(down, ridged_inverse(std::move(moments)), compute);
  std::vector<std::int64_t> removed;
  while (std::ssize(removed) < count) {
    compute.check_stop();
    removed.push_back(surgeon.remove_cheapest());
  }
  return removed;
}

std::uint64_t neurons_bytes(std::int64_t neurons, std::int64_t outputs) {
  const auto n = static_cast<std::uint64_t>(neurons), m = static_cast<std::uint64_t>(outputs);
  if (neurons > kMaxSurgeon) return (n + m) * n * sizeof(double);
  // H before and after a block of removals, with an intermediate result; W_down, and its transpose.
  return 3 * (n + m) * n * sizeof(double);
}

}  // namespace attnscope
