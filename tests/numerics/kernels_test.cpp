// The selection of kernels, and direct tests of kernels that have no suitable caller.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/numerics/svd/kernels/kernels.h"
#include "attnscope/numerics/svd/tridiagonal_eigenvalues.h"
#include "tests/support/compute.h"

namespace attnscope {
namespace {

using namespace test;

class HandWritten : public testing::Test {
 protected:
  void SetUp() override {
    if (!test_compute().kernels.available()) GTEST_SKIP() << "no kernels for this CPU";
  }
};

TEST_F(HandWritten, UseTheRegistersOfTheNamedInstructionSet) {
  const std::map<std::string_view, std::size_t> lanes = {{"AVX-512", 8}, {"AVX2", 4}, {"NEON", 2}};
  EXPECT_EQ(kernels::lanes(test_compute().kernels),
            lanes.at(test_compute().kernels.instruction_set()));
  const char* wish = std::getenv("ATTNSCOPE_KERNELS");
  if (wish != nullptr && std::string_view(wish) == "avx2") {
    EXPECT_EQ(test_compute().kernels.instruction_set(), "AVX2");
  }
}

TEST(KernelsByName, AreTheBestOrTheRequestedOnes) {
  EXPECT_EQ(Kernels::named("").instruction_set(), Kernels().instruction_set());
  EXPECT_FALSE(Kernels::named("none").available());
  EXPECT_NE(Kernels::named("avx2").instruction_set(), "AVX-512");
  EXPECT_THROW(Kernels::named("sse9"), Error);
}

/// A symmetric tridiagonal matrix; `off` has one element less.
struct Symmetric {
  std::vector<double> diagonal, off;
};

/// Matrices of order n that are difficult in different ways, with elements of about 1.
std::vector<Symmetric> tridiagonals(std::size_t n) {
  std::vector<Symmetric> out;
  const auto add = [&](const auto& diagonal, const auto& off) {
    Symmetric matrix;
    for (std::size_t at = 0; at < n; ++at) matrix.diagonal.push_back(diagonal(at));
    for (std::size_t at = 0; at + 1 < n; ++at) matrix.off.push_back(off(at));
    out.push_back(std::move(matrix));
  };
  std::mt19937_64 random(n);
  std::normal_distribution<double> normal;
  const auto constant = [](double value) { return [value](std::size_t) { return value; }; };
  const auto power = [](double base) {
    return [base](std::size_t at) { return std::pow(base, static_cast<double>(at)); };
  };
  const auto half = static_cast<double>(n) / 2;
  add([&](std::size_t) { return normal(random); }, [&](std::size_t) { return normal(random); });
  add(constant(0), constant(0));
  add(constant(1), constant(0));
  add(constant(0), constant(1));   // pairs ± around zero
  add(constant(2), constant(-1));  // the second difference
  add(power(0.3), power(0.2));     // decay, down to underflow
  add([&](std::size_t at) { return std::pow(0.5, static_cast<double>(n - at)); }, constant(1e-3));
  add(constant(1), power(0.5));
  // Off-diagonal elements close to the rounding error of the diagonal.
  add(constant(1), constant(0x1p-53));
  add(constant(1), constant(0x1p-51));
  add([&](std::size_t at) { return std::abs(static_cast<double>(at) - half) / half; },
      constant(0.1));  // Wilkinson matrices: pairs that agree to many digits
  add(power(0.9), [](std::size_t at) { return at % 7 == 6 ? 0.0 : 0.5; });  // splits
  add(constant(1e-30), constant(1e-31));  // small compared with typical divisors
  return out;
}

TEST_F(HandWritten, InterleavedEigenvaluesAgreeWithSturmSequences) {
  const std::size_t lanes = kernels::lanes(test_compute().kernels);
  for (const std::size_t order : {4, 8, 20, 64, 100, 128}) {
    const std::vector<Symmetric> matrices = tridiagonals(order);
    const std::size_t size = (order + 1) * lanes;
    for (std::size_t groups = 1; groups <= kernels::kGroups; ++groups) {
      SCOPED_TRACE(std::to_string(groups) + " groups of order " + std::to_string(order));
      AlignedBuffer<double> diagonals, couplings;
      double* diagonal = diagonals.reserve(groups * size);
      double* off = couplings.reserve(groups * size);
      // Every kind is combined with others in each lane.
      const auto matrix_of = [&](std::size_t lane) -> const Symmetric& {
        return matrices[(lane * 5 + groups) % matrices.size()];
      };
      for (std::size_t lane = 0; lane < groups * lanes; ++lane) {
        const std::size_t first = lane / lanes * size + lane % lanes;
        for (std::size_t at = 0; at < order; ++at) {
          diagonal[first + at * lanes] = matrix_of(lane).diagonal[at];
          off[first + at * lanes] = at + 1 < order ? matrix_of(lane).off[at] : 0.0;
        }
      }
      ASSERT_TRUE(
          kernels::batched_eigenvalues(test_compute().kernels, diagonal, off, order, groups));
      for (std::size_t lane = 0; lane < groups * lanes; ++lane) {
        const Symmetric& matrix = matrix_of(lane);
        const auto expected = tridiagonal_eigenvalues(matrix.diagonal, matrix.off, test_compute());
        const double norm = std::max(std::abs(expected.front()), std::abs(expected.back()));
        // Like LAPACK's QR: one rounding of the norm per row.
        const double tolerance = (8 + static_cast<double>(order)) * 0x1p-52 * norm;
        for (std::size_t at = 0; at < order; ++at) {
          ASSERT_NEAR(diagonal[lane / lanes * size + at * lanes + lane % lanes], expected[at],
                      tolerance)
              << "value " << at << " of kind " << (lane * 5 + groups) % matrices.size();
        }
      }
    }
  }
}

}  // namespace
}  // namespace attnscope
