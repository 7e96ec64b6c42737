#include "attnscope/features/plan/methods/rank_allocation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnscope {
namespace {

/// The possible ranks of a matrix, with their losses and costs.
struct PricedMatrix {
  std::vector<std::int64_t> ranks;  // 0: whole
  std::vector<double> losses, costs;

  /// Index of the best option at this price.
  std::size_t best(double price) const {
    std::size_t found = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t at = 0; at < ranks.size(); ++at) {
      const double value = losses[at] + price * costs[at];
      if (value < least) {
        least = value;
        found = at;
      }
    }
    return found;
  }
};

PricedMatrix priced(const RankOptions& matrix, std::int64_t step) {
  PricedMatrix out;
  const std::int64_t most =
      std::min(matrix.break_even(), static_cast<std::int64_t>(matrix.energies.size()));
  std::vector<double> dropped(matrix.energies.size() + 1, 0.0);  // by rank
  for (std::size_t rank = matrix.energies.size(); rank-- > 0;) {
    dropped[rank] = dropped[rank + 1] + matrix.energies[rank];
  }
  // Ranks ascend, so that ties go to the smaller rank.
  for (std::int64_t rank = std::min(step, most); rank >= 1 && rank <= most; rank += step) {
    out.ranks.push_back(rank);
    out.losses.push_back(matrix.weight * dropped[static_cast<std::size_t>(rank)]);
    out.costs.push_back(static_cast<double>(rank * (matrix.rows + matrix.cols)));
  }
  out.ranks.push_back(0);
  out.losses.push_back(0);
  out.costs.push_back(static_cast<double>(matrix.rows * matrix.cols));
  return out;
}

}  // namespace

double RankOptions::dropped(std::int64_t rank) const {
  double sum = 0;
  for (auto at = std::ssize(energies) - 1; at >= rank; --at) {
    sum += energies[static_cast<std::size_t>(at)];
  }
  return sum;
}

std::vector<std::int64_t> allocate_ranks(std::span<const RankOptions> matrices, std::int64_t budget,
                                         std::int64_t step) {
  std::vector<PricedMatrix> all;
  double largest = 0, least = std::numeric_limits<double>::infinity();
  for (const RankOptions& matrix : matrices) {
    all.push_back(priced(matrix, step));
    for (const double loss : all.back().losses) {
      if (loss > 0) {
        largest = std::max(largest, loss);
        least = std::min(least, loss);
      }
    }
  }
  const auto total = [&](double price) {
    double sum = 0;
    for (const PricedMatrix& matrix : all) sum += matrix.costs[matrix.best(price)];
    return sum;
  };
  const auto ranks_at = [&](double price) {
    std::vector<std::int64_t> ranks;
    for (const PricedMatrix& matrix : all) ranks.push_back(matrix.ranks[matrix.best(price)]);
    return ranks;
  };
  const auto limit = static_cast<double>(budget);
  if (total(0) <= limit || largest == 0) return ranks_at(0);
  double low = std::log(least) - 60, high = std::log(largest) + 60;
  constexpr int kSteps = 200;
  for (int at = 0; at < kSteps; ++at) {
    const double middle = (low + high) / 2;
    (total(std::exp(middle)) <= limit ? high : low) = middle;
  }
  return ranks_at(std::exp(high));
}

std::vector<std::int64_t> energy_ranks(std::span<const RankOptions> matrices, std::int64_t budget,
                                       std::int64_t step) {
  const auto ranks_at = [&](double share) {
    std::vector<std::int64_t> ranks;
    for (const RankOptions& matrix : matrices) {
      const double most = (1 - share) * matrix.dropped(0);
      std::int64_t rank = std::ssize(matrix.energies);
      for (double dropped = 0; rank > 1; --rank) {
        dropped += matrix.energies[static_cast<std::size_t>(rank - 1)];
        if (dropped > most) break;
      }
      rank = (rank + step - 1) / step * step;
      const std::int64_t least = std::min(step, matrix.break_even());
      const bool factors = rank <= matrix.break_even() || rank == step;
      ranks.push_back(factors ? std::max(least, std::min(rank, matrix.break_even())) : 0);
    }
    return ranks;
  };
  double low = 0, high = 1;
  if (factored_parameters(matrices, ranks_at(high)) <= budget) return ranks_at(high);
  constexpr int kSteps = 60;
  for (int at = 0; at < kSteps; ++at) {
    const double middle = (low + high) / 2;
    (factored_parameters(matrices, ranks_at(middle)) <= budget ? low : high) = middle;
  }
  return ranks_at(low);
}

std::vector<std::int64_t> uniform_ranks(std::span<const RankOptions> matrices, std::int64_t budget,
                                        std::int64_t step) {
  std::int64_t whole = 0;
  for (const RankOptions& matrix : matrices) whole += matrix.rows * matrix.cols;
  const double share =
      static_cast<double>(budget) / static_cast<double>(std::max<std::int64_t>(1, whole));
  std::vector<std::int64_t> ranks;
  for (const RankOptions& matrix : matrices) {
    const double full = static_cast<double>(matrix.rows * matrix.cols) /
                        static_cast<double>(matrix.rows + matrix.cols);
    const std::int64_t most = std::max<std::int64_t>(1, matrix.break_even());
    const auto rank = static_cast<std::int64_t>(share * full) / step * step;
    ranks.push_back(share >= 1 ? 0 : std::clamp<std::int64_t>(rank, std::min(step, most), most));
  }
  return ranks;
}

std::int64_t factored_parameters(std::span<const RankOptions> matrices,
                                 std::span<const std::int64_t> ranks) {
  std::int64_t sum = 0;
  for (std::size_t at = 0; at < matrices.size(); ++at) {
    const RankOptions& matrix = matrices[at];
    sum += ranks[at] == 0 ? matrix.rows * matrix.cols : ranks[at] * (matrix.rows + matrix.cols);
  }
  return sum;
}

}  // namespace attnscope
