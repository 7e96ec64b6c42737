// Numerical ranks and small singular values: float64 checkpoints are resolved to float64 precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/jacobi.h"
#include "tests/support/matrices.h"
#include "tests/support/program.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

TensorToWrite float64_tensor(const std::string& name, const Matrix<double>& matrix) {
  TensorToWrite tensor = zero_tensor(name, "F64", 64, {matrix.rows(), matrix.cols()});
  std::memcpy(tensor.bytes.data(), matrix.data(), tensor.bytes.size());
  return tensor;
}

TensorToWrite float32_tensor(const std::string& name, const Matrix<double>& matrix) {
  TensorToWrite tensor = zero_tensor(name, "F32", 32, {matrix.rows(), matrix.cols()});
  const Matrix<float> rounded = converted<float>(matrix);
  std::memcpy(tensor.bytes.data(), rounded.data(), tensor.bytes.size());
  return tensor;
}

json spectrum_of_tensor(const TempFolder& folder, const TensorToWrite& tensor) {
  const auto path =
      folder.write(tensor.name + tensor.dtype + ".safetensors", safetensors_bytes({tensor}));
  return report_of({"spectrum", path.string(), "--tensor", tensor.name, "--values"});
}

/// For 16 rows and columns, LAPACK's rounding errors are a few 2^-52 of the largest value.
void expect_values(const json& row, const std::vector<double>& expected, double largest) {
  const std::vector<double> got = row["singular_values"];
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t at = 0; at < got.size(); ++at) {
    EXPECT_NEAR(got[at], expected[at], 16 * 0x1p-52 * largest) << row["matrix"] << " " << at;
  }
}

TEST(CliFloat64Spectrum, CountsValuesAboveTheRoundingErrorOfTheDtype) {
  const TempFolder folder;
  // 100 values span 16 decades. Values above 100 ε are counted: 13.65 decades in float64, 4.92 in
  // float32.
  const std::vector<double> planted = geometric_values(100, 1e-16);
  const Matrix<double> matrix = matrix_with_singular_values(100, 100, planted, /*seed=*/1);
  const auto rank_above = [&](double cut) {
    return std::count_if(planted.begin(), planted.end(), [&](double value) { return value > cut; });
  };
  const json row = spectrum_of_tensor(folder, float64_tensor("x", matrix))["rows"][0];
  EXPECT_EQ(row["numerical_rank"], rank_above(100 * 0x1p-52));
  EXPECT_TRUE(row["condition_number"].is_null());
  const json rounded = spectrum_of_tensor(folder, float32_tensor("x", matrix))["rows"][0];
  EXPECT_EQ(rounded["numerical_rank"], rank_above(100 * 0x1p-23));
}

TEST(CliFloat64Spectrum, ReportsConditionNumbersBeyondFloat32) {
  const TempFolder folder;
  const Matrix<double> matrix =
      matrix_with_singular_values(16, 40, geometric_values(16, 1e-12), /*seed=*/1);
  const json row = spectrum_of_tensor(folder, float64_tensor("x", matrix))["rows"][0];
  EXPECT_EQ(row["numerical_rank"], 16);
  // σ_16 has an error of 16 · 2^-52, which is 0.4% of it.
  EXPECT_NEAR(row["condition_number"], 1e12, 4e9);
  const json rounded = spectrum_of_tensor(folder, float32_tensor("x", matrix))["rows"][0];
  EXPECT_TRUE(rounded["condition_number"].is_null());
}

TEST(CliFloat64Spectrum, ResolvesHeadsAndCircuits) {
  const TempFolder folder;
  TinyLlama model(1);
  const Matrix<double> q =
      matrix_with_singular_values(16, 16, geometric_values(16, 1e-14), /*seed=*/2);
  const Matrix<double> k =
      matrix_with_singular_values(8, 16, geometric_values(8, 1e-6), /*seed=*/3);
  model.attention(0, 'q') = float64_tensor(TinyLlama::attention_name(0, 'q'), q);
  model.attention(0, 'k') = float64_tensor(TinyLlama::attention_name(0, 'k'), k);
  const json rows = report_of({"spectrum", model.write(folder, "model"), "--matrix", "q,qk,kv",
                               "--per-head", "--values"})["rows"];
  const auto row_of = [&](const std::string& matrix, const json& head) {
    for (const json& row : rows) {
      if (row["matrix"] == matrix && row["head"] == head) return row;
    }
    return json();
  };
  const MatrixView<const double> view = q.view();
  expect_values(row_of("q", nullptr), geometric_values(16, 1e-14), 1);
  EXPECT_EQ(row_of("q", nullptr)["numerical_rank"], 16);
  for (std::int64_t head = 0; head < 4; ++head) {
    const auto queries = view.row_block(4 * head, 4);
    expect_values(row_of("q", head), jacobi_singular_values(queries), 1);
    // Two query heads share one key head.
    const auto keys = k.view().row_block(4 * (head / 2), 4);
    std::vector<double> product =
        jacobi_singular_values(naive_product(queries.transposed(), keys).view());
    product.resize(4);
    expect_values(row_of("qk", head), product, 1);
    // Below float32 resolution, but within float64 resolution.
    const json& own = row_of("qk", head);
    EXPECT_EQ(own["numerical_rank"],
              std::count_if(product.begin(), product.end(),
                            [&](double value) { return value > 16 * 0x1p-52 * product[0]; }));
  }
}

TEST(CliFloat64Spectrum, OverlapsCountDirectionsAboveTheRoundingErrorOfTheDtype) {
  const TempFolder folder;
  TinyLlama model(1);
  // Orthogonal rows of different norms, so the pivots are the norms.
  Matrix<double> q = zero_matrix(16, 16);
  for (std::int64_t row = 0; row < 16; ++row) q(row, row) = std::pow(1e-3, row % 4);
  const auto ranks_of = [&](const TensorToWrite& tensor) {
    model.attention(0, 'q') = tensor;
    const std::string path = model.write(folder, "overlap" + tensor.dtype);
    return report_of({"similarity", path, "--overlap", "--matrix", "q"})["rows"][0]["ranks"];
  };
  // 1e-9 is above 16 · 2^-52, and both 1e-6 and 1e-9 are below 16 · 2^-23 = 1.9e-6.
  const std::string name = TinyLlama::attention_name(0, 'q');
  EXPECT_EQ(ranks_of(float64_tensor(name, q)), (json{4, 4, 4, 4}));
  EXPECT_EQ(ranks_of(float32_tensor(name, q)), (json{2, 2, 2, 2}));
}

}  // namespace
}  // namespace attnscope::test
