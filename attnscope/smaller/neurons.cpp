#include "attnscope/smaller/neurons.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "attnscope/smaller/truncation.h"

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

/// What is left of the neurons; what goes changes places with the last.
struct Surgeon {
  Matrix<double> outputs;  // (F, m): row j is column j of W_down
  Matrix<double> inverse;  // H, (F, F), lower triangle
  std::vector<std::int64_t> neurons;
  std::vector<double> squares;  // ‖W_:j‖²

  double& inverse_at(std::int64_t a, std::int64_t b) {
    return a >= b ? inverse(a, b) : inverse(b, a);
  }

  std::int64_t cheapest() {
    double least = std::numeric_limits<double>::infinity();
    std::int64_t found = 0;
    for (std::int64_t at = 0; at < std::ssize(neurons); ++at) {
      const double cost = squares[static_cast<std::size_t>(at)] / inverse(at, at);
      if (cost < least) {
        least = cost;
        found = at;
      }
    }
    return found;
  }

  void exchange(std::int64_t a, std::int64_t last) {
    if (a == last) return;
    for (std::int64_t at = 0; at < last; ++at) {
      if (at != a) std::swap(inverse_at(a, at), inverse_at(last, at));
    }
    std::swap(inverse(a, a), inverse(last, last));
    std::swap_ranges(&outputs(a, 0), &outputs(a, 0) + outputs.cols(), &outputs(last, 0));
    std::swap(neurons[static_cast<std::size_t>(a)], neurons[static_cast<std::size_t>(last)]);
    std::swap(squares[static_cast<std::size_t>(a)], squares[static_cast<std::size_t>(last)]);
  }

  /// Gives its number.
  std::int64_t remove(std::int64_t neuron, const Compute& compute) {
    const std::int64_t last = std::ssize(neurons) - 1;
    exchange(neuron, last);
    const double own = inverse(last, last);
    const double* const row = &inverse(last, 0);
    const double* const gone = &outputs(last, 0);
    constexpr std::int64_t kRows = 64;
    const auto parts = static_cast<std::size_t>((last + kRows - 1) / kRows);
    run_parts(compute, parts, [&](std::size_t part) {
      const auto first = static_cast<std::int64_t>(part) * kRows;
      for (std::int64_t at = first; at < std::min(first + kRows, last); ++at) {
        const double factor = row[at] / own;
        double* const mine = &outputs(at, 0);
        double sum = 0;
        for (std::int64_t out = 0; out < outputs.cols(); ++out) {
          mine[out] -= factor * gone[out];
          sum += mine[out] * mine[out];
        }
        squares[static_cast<std::size_t>(at)] = sum;
        double* const others = &inverse(at, 0);
        for (std::int64_t col = 0; col <= at; ++col) others[col] -= factor * row[col];
      }
    });
    const std::int64_t number = neurons.back();
    neurons.pop_back();
    squares.pop_back();
    return number;
  }
};

}  // namespace

std::vector<std::int64_t> neurons_to_remove(MatrixView<const double> down,
                                            MatrixView<const double> moments, std::int64_t count,
                                            const Compute& compute) {
  const std::int64_t neurons = down.cols;
  if (neurons > kMaxSurgeon) return weakest(down, moments, count);
  Matrix<double> identity(neurons, neurons);
  for (std::int64_t row = 0; row < neurons; ++row) {
    for (std::int64_t col = 0; col < neurons; ++col) identity(row, col) = row == col ? 1 : 0;
  }
  constexpr double kRidge = 1e-6;
  Surgeon surgeon{.outputs = Matrix<double>(neurons, down.rows),
                  .inverse = solve_ridged(moments, kRidge, identity.view()),
                  .neurons = std::vector<std::int64_t>(static_cast<std::size_t>(neurons)),
                  .squares = {}};
  std::iota(surgeon.neurons.begin(), surgeon.neurons.end(), std::int64_t{0});
  for (std::int64_t neuron = 0; neuron < neurons; ++neuron) {
    for (std::int64_t row = 0; row < down.rows; ++row) {
      surgeon.outputs(neuron, row) = down(row, neuron);
    }
    surgeon.squares.push_back(squared_column(down, neuron));
  }
  std::vector<std::int64_t> removed;
  while (std::ssize(removed) < count) {
    compute.check_stop();
    removed.push_back(surgeon.remove(surgeon.cheapest(), compute));
  }
  return removed;
}

}  // namespace attnscope
