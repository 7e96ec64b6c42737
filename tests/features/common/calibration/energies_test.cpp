// Energies of the outputs of trained matrices, and the energy lost at lower rank, compared with
// NumPy in float64 (tools/golden_plan_energies.py).
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "attnscope/features/common/calibration/low_rank_fit.h"
#include "attnscope/features/plan/methods/narrow_values.h"
#include "attnscope/numerics/products/second_moments.h"
#include "tests/support/compute.h"
#include "tests/support/json.h"
#include "tests/support/matrices.h"

namespace attnscope::test {
namespace {

using nlohmann::json;

std::filesystem::path source_file(const std::string& name) {
  return std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / name;
}

/// Multiples of 1/128, as in the tool, so that float32 sums of up to 256 products are exact.
Matrix<float> exact_inputs(std::int64_t tokens, std::int64_t width) {
  Matrix<float> out(tokens, width);
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int64_t col = 0; col < width; ++col) {
      const std::uint64_t own = (static_cast<std::uint64_t>(token) * 2654435761u) ^
                                (static_cast<std::uint64_t>(col) * 2246822519u);
      const std::uint64_t mixed = own * 3266489917u % (std::uint64_t{1} << 32);
      const double number = static_cast<double>((mixed >> 16) % 65);
      out(token, col) = static_cast<float>(number / 16 / static_cast<double>(1 << col % 4) - 2);
    }
  }
  return out;
}

TEST(Energies, EqualNumPysEigenvalues) {
  const json golden = json::parse(std::ifstream(source_file("tests/data/plan/energies.json")));
  const auto tokens = golden["tokens"].get<std::int64_t>();
  const json& cases = golden["cases"];
  for (const json& one : cases) {
    const Model model = Model::open(source_file(one["model"].get<std::string>()));
    const auto layer = one["layer"].get<std::int64_t>();
    const Role role = *role_from_name(one["matrix"].get<std::string>());
    const bool biased = one["biased"].get<bool>();
    const Matrix<double> weight =
        biased ? with_bias_column(model, layer, role) : canonical_matrix(model, layer, role);
    const Matrix<float> inputs = exact_inputs(tokens, weight.cols() - (biased ? 1 : 0));
    SecondMoments sums{.rows = tokens, .second = Matrix<double>(inputs.cols(), inputs.cols())};
    std::fill_n(sums.second.data(), inputs.cols() * inputs.cols(), 0.0);
    add_second_moments(inputs.view(), inputs.view(), sums.second.view(), test_compute());
    for (std::int64_t col = 0; col < inputs.cols(); ++col) {
      double sum = 0;
      for (std::int64_t row = 0; row < tokens; ++row) sum += static_cast<double>(inputs(row, col));
      sums.first.push_back(sum);
    }
    Matrix<double> with_one;
    MeanMoments moments = sums.mean(one["ridge"].get<double>());
    if (biased) {
      with_one = sums.mean_second_with_one();
      moments = {.sums = with_one.view()};
    }
    const auto theirs = one["energies"].get<std::vector<double>>();
    const double tolerance = 1e-9 * theirs.front();
    LentTeam team(3);
    const auto energies = output_energies(weight.view(), moments, team.compute());
    const OutputDirections own = output_directions(weight.view(), moments, test_compute());
    ASSERT_EQ(energies.size(), theirs.size());
    ASSERT_EQ(own.energies.size(), theirs.size());
    for (std::size_t at = 0; at < theirs.size(); ++at) {
      EXPECT_NEAR(energies[at], theirs[at], tolerance) << one["matrix"] << " " << at;
      EXPECT_NEAR(own.energies[at], theirs[at], tolerance) << one["matrix"] << " " << at;
    }
    // Requesting fewer directions returns the leading ones. The lost energy is the sum of the other
    // eigenvalues.
    const std::int64_t rank = std::ssize(theirs) / 3;
    const auto few = output_directions(weight.view(), moments, team.compute(), rank);
    for (std::int64_t at = 0; at < rank * weight.rows(); ++at) {
      ASSERT_EQ(few.basis.data()[at], own.basis.data()[at]);
    }
    Matrix<double> copy(weight.rows(), weight.cols());
    std::copy_n(weight.data(), weight.rows() * weight.cols(), copy.data());
    Matrix<double> left = truncated(std::move(copy), few, rank, test_compute());
    for (std::int64_t at = 0; at < left.rows() * left.cols(); ++at) {
      left.data()[at] -= weight.data()[at];
    }
    const auto lost = output_energies(left.view(), moments, test_compute());
    const double all = std::accumulate(theirs.begin(), theirs.end(), 0.0);
    EXPECT_NEAR(std::accumulate(lost.begin(), lost.end(), 0.0),
                std::accumulate(theirs.begin() + rank, theirs.end(), 0.0), 1e-9 * all);
  }
}

TEST(Energies, InputsEqualTheEigenvaluesOfTheirMoments) {
  const Matrix<float> inputs = exact_inputs(300, 150);
  SecondMoments sums{.rows = 300, .second = Matrix<double>(150, 150)};
  std::fill_n(sums.second.data(), 150 * 150, 0.0);
  add_second_moments(inputs.view(), inputs.view(), sums.second.view(), test_compute());
  const auto own = input_energies(sums.mean(), test_compute());
  const auto theirs =
      output_energies(identity_matrix(150, 150).view(), sums.mean(), test_compute());
  for (std::size_t at = 0; at < own.size(); ++at) {
    EXPECT_NEAR(own[at], theirs[at], 1e-12 * own.front());
  }
}

}  // namespace
}  // namespace attnscope::test
