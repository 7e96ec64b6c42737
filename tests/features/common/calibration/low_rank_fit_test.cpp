// The loss of low-rank truncation on a text, the refit of the kept inputs, and ranks under a
// budget, each compared with its definition.
#include "attnscope/features/common/calibration/low_rank_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "attnscope/features/plan/methods/neuron_removal.h"
#include "attnscope/features/plan/methods/rank_allocation.h"
#include "tests/support/compute.h"
#include "tests/support/matrices.h"

namespace attnscope::test {
namespace {

Matrix<double> moments_of(std::int64_t n, std::uint64_t seed) {
  const Matrix<double> x = gaussian_matrix(3 * n, n, seed);
  return naive_product(x.view().transposed(), x.view());
}

Matrix<double> copy_of(const Matrix<double>& matrix) {
  Matrix<double> out(matrix.rows(), matrix.cols());
  std::copy_n(matrix.data(), matrix.rows() * matrix.cols(), out.data());
  return out;
}

/// tr(E G Eᵀ) of the difference E of two matrices.
double loss_of(const Matrix<double>& a, const Matrix<double>& b, const Matrix<double>& moments) {
  Matrix<double> difference(a.rows(), a.cols());
  for (std::int64_t at = 0; at < a.rows() * a.cols(); ++at) {
    difference.data()[at] = a.data()[at] - b.data()[at];
  }
  return output_energy(difference.view(), moments.view(), test_compute());
}

TEST(Truncation, LosesTheDroppedEnergies) {
  for (const auto& [rows, cols] : {std::pair{6, 9}, std::pair{9, 6}, std::pair{5, 5}}) {
    const Matrix<double> weight = gaussian_matrix(rows, cols, 1), moments = moments_of(cols, 2);
    const OutputDirections own =
        output_directions(weight.view(), {.sums = moments.view()}, test_compute());
    const double all = std::accumulate(own.energies.begin(), own.energies.end(), 0.0);
    EXPECT_NEAR(all, output_energy(weight.view(), moments.view(), test_compute()), 1e-9 * all);
    double dropped = all;
    for (std::int64_t rank = 1; rank <= std::min(rows, cols); ++rank) {
      dropped -= own.energies[static_cast<std::size_t>(rank - 1)];
      const Matrix<double> low = truncated(copy_of(weight), own, rank, test_compute());
      EXPECT_NEAR(loss_of(weight, low, moments), dropped, 1e-9 * all) << rank;
    }
  }
}

TEST(Truncation, IsNoWorseThanPlainSingularVectors) {
  const Matrix<double> weight = gaussian_matrix(8, 8, 3), moments = moments_of(8, 4);
  const Matrix<double> alike = identity_matrix(8, 8);
  const auto aware = output_directions(weight.view(), {.sums = moments.view()}, test_compute());
  const auto plain = output_directions(weight.view(), {.sums = alike.view()}, test_compute());
  for (std::int64_t rank = 1; rank < 8; ++rank) {
    EXPECT_LT(loss_of(weight, truncated(copy_of(weight), aware, rank, test_compute()), moments),
              loss_of(weight, truncated(copy_of(weight), plain, rank, test_compute()), moments));
  }
}

/// Optimal brain surgeon by its definition: recomputes both matrices after each removal.
std::vector<std::int64_t> plain_surgeon(const Matrix<double>& down, const Matrix<double>& moments,
                                        std::int64_t count) {
  const std::int64_t n = down.cols();
  Matrix<double> inverse = solve_ridged(copy_of(moments), 1e-6, identity_matrix(n, n));
  Matrix<double> weight = copy_of(down);
  std::vector<bool> gone(static_cast<std::size_t>(n), false);
  std::vector<std::int64_t> out;
  while (std::ssize(out) < count) {
    std::int64_t best = -1;
    double least = 0;
    for (std::int64_t at = 0; at < n; ++at) {
      if (gone[static_cast<std::size_t>(at)]) continue;
      double cost = 0;
      for (std::int64_t row = 0; row < down.rows(); ++row) cost += std::pow(weight(row, at), 2);
      cost /= inverse(at, at);
      if (best < 0 || cost < least) {
        best = at;
        least = cost;
      }
    }
    const Matrix<double> before = copy_of(inverse);
    const double own = before(best, best);
    for (std::int64_t row = 0; row < down.rows(); ++row) {
      const double value = weight(row, best);
      for (std::int64_t at = 0; at < n; ++at) weight(row, at) -= value * before(best, at) / own;
    }
    for (std::int64_t row = 0; row < n; ++row) {
      for (std::int64_t at = 0; at < n; ++at) {
        inverse(row, at) -= before(row, best) * before(best, at) / own;
      }
    }
    gone[static_cast<std::size_t>(best)] = true;
    out.push_back(best);
  }
  return out;
}

TEST(Refit, SurgeonRemovesInTheDefinedOrder) {
  const Matrix<double> weight = gaussian_matrix(20, 190, 9), moments = moments_of(190, 10);
  // Covers more than two of the blocks that the implementation processes.
  const auto own = neurons_to_remove(weight.view(), copy_of(moments), 150, test_compute());
  EXPECT_EQ(own, plain_surgeon(weight, moments, 150));
}

std::vector<std::int64_t> kept_neurons(const Matrix<double>& down, const Matrix<double>& moments,
                                       std::int64_t kept) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(down.cols()));
  std::iota(out.begin(), out.end(), std::int64_t{0});
  for (const std::int64_t gone :
       neurons_to_remove(down.view(), copy_of(moments), down.cols() - kept, test_compute())) {
    std::erase(out, gone);
  }
  return out;
}

TEST(Refit, CompensatesForDependentInputs) {
  // Input 2 is the sum of the first two, so removing it loses nothing.
  Matrix<double> x = gaussian_matrix(40, 4, 5);
  for (int row = 0; row < 40; ++row) x(row, 2) = x(row, 0) + x(row, 1);
  const Matrix<double> moments = naive_product(x.view().transposed(), x.view());
  const Matrix<double> weight = gaussian_matrix(3, 4, 6);
  const std::vector<std::int64_t> kept = {0, 1, 3};
  const Matrix<double> fitted =
      refitted(weight.view(), {.sums = moments.view()}, kept, test_compute());
  Matrix<double> spread = zero_matrix(3, 4);
  for (int row = 0; row < 3; ++row) {
    for (int at = 0; at < 3; ++at) spread(row, kept[at]) = fitted(row, at);
  }
  EXPECT_NEAR(loss_of(weight, spread, moments), 0, 1e-6);
  EXPECT_EQ(kept_neurons(weight, moments, 4).size(), 4u);
  const auto three = kept_neurons(weight, moments, 3);
  EXPECT_EQ(three.back(), 3);  // removes one of the first three, which are linearly dependent
}

TEST(Refit, SurgeonBeatsAnyOtherRemovalOnDependentInputs) {
  const Matrix<double> weight = gaussian_matrix(6, 12, 7), moments = moments_of(12, 8);
  const auto loss = [&](const std::vector<std::int64_t>& kept) {
    const Matrix<double> fitted =
        refitted(weight.view(), {.sums = moments.view()}, kept, test_compute());
    Matrix<double> spread = zero_matrix(6, 12);
    for (int row = 0; row < 6; ++row) {
      for (std::size_t at = 0; at < kept.size(); ++at) {
        spread(row, kept[at]) = fitted(row, static_cast<std::int64_t>(at));
      }
    }
    return loss_of(weight, spread, moments);
  };
  const auto kept = kept_neurons(weight, moments, 11);
  for (std::int64_t gone = 0; gone < 12; ++gone) {
    std::vector<std::int64_t> others;
    for (std::int64_t at = 0; at < 12; ++at) {
      if (at != gone) others.push_back(at);
    }
    EXPECT_LE(loss(kept), loss(others) * (1 + 1e-4)) << gone;
  }
  LentTeam team(3);
  const auto seven = neurons_to_remove(weight.view(), copy_of(moments), 7, test_compute());
  EXPECT_EQ(neurons_to_remove(weight.view(), copy_of(moments), 7, team.compute()), seven);
  const auto three = neurons_to_remove(weight.view(), copy_of(moments), 3, test_compute());
  EXPECT_TRUE(std::equal(three.begin(), three.end(), seven.begin()));
}

TEST(Allocation, FindsTheBestRanksOfFewMatrices) {
  std::vector<RankOptions> matrices = {
      {.rows = 6, .cols = 6, .energies = {9, 4, 2, 1, 0.5, 0.1}, .weight = 1},
      {.rows = 8, .cols = 6, .energies = {20, 1, 0.9, 0.8, 0.2, 0.1}, .weight = 0.5},
      {.rows = 4, .cols = 9, .energies = {3, 2.9, 2.8, 2.7}, .weight = 2}};
  for (const std::int64_t budget : {40, 60, 80, 100, 119}) {
    const std::vector<std::int64_t> ranks = allocate_ranks(matrices, budget);
    const auto loss = [&](const std::vector<std::int64_t>& of) {
      double sum = 0;
      for (std::size_t at = 0; at < of.size(); ++at) {
        if (of[at] > 0) sum += matrices[at].weight * matrices[at].dropped(of[at]);
      }
      return sum;
    };
    EXPECT_LE(factored_parameters(matrices, ranks), budget);
    // Lagrangian optimality: no allocation of at most as many parameters has a lower loss.
    const std::int64_t used = factored_parameters(matrices, ranks);
    for (std::int64_t a = 0; a <= matrices[0].break_even(); ++a) {
      for (std::int64_t b = 0; b <= matrices[1].break_even(); ++b) {
        for (std::int64_t c = 0; c <= matrices[2].break_even(); ++c) {
          if (factored_parameters(matrices, std::vector{a, b, c}) > used) continue;
          EXPECT_GE(loss({a, b, c}), loss(ranks) - 1e-12);
        }
      }
    }
  }
  EXPECT_EQ(allocate_ranks(matrices, 36 + 48 + 36), (std::vector<std::int64_t>{0, 0, 0}));
}

TEST(Allocation, EnergyKeepsTheSameShareOfEachMatrix) {
  std::vector<RankOptions> matrices = {
      {.rows = 20, .cols = 20, .energies = geometric_values(20, 0.5), .weight = 1},
      {.rows = 10, .cols = 30, .energies = geometric_values(10, 0.1), .weight = 9}};
  const std::vector<std::int64_t> ranks = energy_ranks(matrices, 400);
  EXPECT_LE(factored_parameters(matrices, ranks), 400);
  const auto share = [&](std::size_t at, std::int64_t rank) {
    return 1 - matrices[at].dropped(rank) / matrices[at].dropped(0);
  };
  // The allocation is tight: with a rank lower by 1, no matrix keeps more than the common share.
  const double least = std::min(share(0, ranks[0]), share(1, ranks[1]));
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    ASSERT_GT(ranks[at], 1);
    EXPECT_LT(share(at, ranks[at] - 1), least + 1e-12);
  }
  EXPECT_EQ(energy_ranks(matrices, 700), (std::vector<std::int64_t>{0, 0}));
}

TEST(Allocation, UniformKeepsTheSameShareOfParameters) {
  const std::vector<RankOptions> matrices = {
      {.rows = 20, .cols = 20, .energies = geometric_values(20, 0.5)},
      {.rows = 10, .cols = 40, .energies = geometric_values(10, 0.1)}};
  EXPECT_EQ(uniform_ranks(matrices, 400), (std::vector<std::int64_t>{5, 4}));
  EXPECT_EQ(uniform_ranks(matrices, 800), (std::vector<std::int64_t>{0, 0}));
}

TEST(Allocation, UsesMultiplesOfTheStep) {
  const std::vector<RankOptions> matrices = {
      {.rows = 20, .cols = 20, .energies = geometric_values(20, 0.01)}};
  for (const std::int64_t rank : allocate_ranks(matrices, 300, 4)) EXPECT_EQ(rank % 4, 0);
}

}  // namespace
}  // namespace attnscope::test
