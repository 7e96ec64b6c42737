// Which rank each matrix gets under one budget.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace attnscope {

/// How a budget is shared out: by what probes lose, by the same share of each matrix's energy, by
/// the same share of its parameters, or like that without the text.
enum class RankAllocation { kl, energy, uniform, plain };

/// In the order of the enum.
inline constexpr std::array<std::string_view, 4> kRankAllocations = {"kl", "energy", "uniform",
                                                                     "plain"};

/// What a matrix (m, n) costs and loses at each rank.
struct RankOptions {
  std::int64_t rows = 0, cols = 0;
  std::vector<double> energies;  // λ, descending: rank r loses Σ_{i>r} λ_i
  double weight = 1;             // what one unit of that costs the model

  /// The largest rank at which factors are smaller than the matrix: ⌊(m n − 1) / (m + n)⌋.
  std::int64_t break_even() const { return (rows * cols - 1) / (rows + cols); }
  /// Σ_{i>r} λ_i.
  double dropped(std::int64_t rank) const;
};

/// The ranks with the least Σ weight · dropped whose factors have at most `budget` parameters
/// together; 0: the matrix stays whole, which loses nothing. For a price of a parameter each matrix
/// takes the option with the least weight · dropped + price · parameters, of equal ones the smaller
/// rank; the price is bisected in its logarithm, 200 steps. `step`, here and below: ranks are
/// multiples of it, but for matrices that have no room for one.
/// Source: Lagrangian relaxation (Everett 1963).
std::vector<std::int64_t> allocate_ranks(std::span<const RankOptions> matrices, std::int64_t budget,
                                         std::int64_t step = 1);

/// Of every matrix the fewest ranks that hold the same share of its energy, the largest share that
/// the budget allows. A rank above its break-even leaves the matrix whole.
std::vector<std::int64_t> energy_ranks(std::span<const RankOptions> matrices, std::int64_t budget,
                                       std::int64_t step = 1);

/// Of every matrix the same share of its parameters, as SVD-LLM has it.
std::vector<std::int64_t> uniform_ranks(std::span<const RankOptions> matrices, std::int64_t budget,
                                        std::int64_t step = 1);

/// Parameters with these ranks, as factors.
std::int64_t factored_parameters(std::span<const RankOptions> matrices,
                                 std::span<const std::int64_t> ranks);

}  // namespace attnscope
