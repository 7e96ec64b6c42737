// Allocates ranks to matrices under one budget.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace attnscope {

/// How a budget is allocated: by measured sensitivity, by equal energy share, by equal parameter
/// share, or by equal parameter share without calibration.
enum class RankAllocation { kl, energy, uniform, plain };

/// In the order of the enum.
inline constexpr std::array<std::string_view, 4> kRankAllocations = {"kl", "energy", "uniform",
                                                                     "plain"};

/// Cost and loss of a matrix (m, n) at each rank.
struct RankOptions {
  std::int64_t rows = 0, cols = 0;
  std::vector<double> energies;  // λ, descending: rank r loses Σ_{i>r} λ_i
  double weight = 1;             // loss of the model per unit of dropped energy

  /// The largest rank at which factors are smaller than the matrix: ⌊(m n − 1) / (m + n)⌋.
  std::int64_t break_even() const { return (rows * cols - 1) / (rows + cols); }
  /// Σ_{i>r} λ_i.
  double dropped(std::int64_t rank) const;
};

/// The ranks that minimize Σ weight · dropped with at most `budget` parameters in total; 0: not
/// factored, without loss. At a price per parameter, each matrix takes the option with the smallest
/// weight · dropped + price · parameters. Ties go to the smaller rank. The logarithm of the price
/// is found by 200 bisection steps. `step`, here and below: ranks are multiples of it, unless the
/// matrix is too small. Source: Lagrangian relaxation (Everett 1963).
std::vector<std::int64_t> allocate_ranks(std::span<const RankOptions> matrices, std::int64_t budget,
                                         std::int64_t step = 1);

/// The smallest rank of each matrix that keeps a common share of its energy, with the largest share
/// that the budget allows. A matrix whose rank exceeds its break-even rank is not factored.
std::vector<std::int64_t> energy_ranks(std::span<const RankOptions> matrices, std::int64_t budget,
                                       std::int64_t step = 1);

/// The same share of parameters for every matrix, as in SVD-LLM.
std::vector<std::int64_t> uniform_ranks(std::span<const RankOptions> matrices, std::int64_t budget,
                                        std::int64_t step = 1);

/// Total parameters of the factors with these ranks.
std::int64_t factored_parameters(std::span<const RankOptions> matrices,
                                 std::span<const std::int64_t> ranks);

}  // namespace attnscope
