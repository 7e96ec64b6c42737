// Every checkpoint under tests/data, compared with tests/golden: values that tools/make_golden.py
// computed by running the transformers modules. This checks layouts, head slicing and spectra
// together.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "attnscope/base/heads.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/circuit_factors.h"
#include "attnscope/features/spectrum/measures.h"
#include "attnscope/model/model.h"
#include "attnscope/numerics/svd/singular_values.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kEpsilon = 0x1p-52;
constexpr std::array kSpectrumThresholds = {0.6, 0.8, 0.9, 0.99};

/// Values are printed with 12 significant digits.
double printed_rounding(double value) { return 5e-12 * std::abs(value); }

fs::path tests_folder() { return fs::path(ATTNSCOPE_SOURCE_DIR) / "tests"; }

json read_golden(const std::string& name) {
  std::ifstream file(tests_folder() / "golden" / (name + ".json"));
  return json::parse(file);
}

/// The sorted names of the cases. Empty if the folder is missing, which the count below detects.
std::vector<std::string> golden_cases() {
  std::vector<std::string> names;
  std::error_code absent;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(tests_folder() / "golden", absent)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// The layer, matrix and head of one row of a golden file.
struct RowId {
  std::int64_t layer = 0;
  Role role = Role::query;
  std::optional<std::int64_t> head;  // nullopt: the whole matrix

  std::string text() const {
    return "layer " + std::to_string(layer) + ", " + std::string(role_name(role)) +
           (head ? ", head " + std::to_string(*head) : "");
  }
};

RowId row_id(const json& row) {
  RowId id = {.layer = row.at("layer").get<std::int64_t>(),
              .role = role_from_name(row.at("matrix").get<std::string>()).value()};
  if (!row.at("head").is_null()) id.head = row.at("head").get<std::int64_t>();
  return id;
}

class Golden : public testing::TestWithParam<std::string> {
 protected:
  Matrix<double> weight(std::int64_t layer, Role role) const {
    return std::visit([](const auto& decoded) { return test::converted<double>(decoded); },
                      decode_exact(model_.weight(layer, role).matrix));
  }

  const HeadShape& heads() const { return model_.dimensions().heads; }

  const json golden_ = read_golden(GetParam());
  const Model model_ = Model::open(tests_folder() / "data" / GetParam());
};

// ---- Projections --------------------------------------------------------------------------------

TEST_P(Golden, ProjectionsMapAProbeLikeTheModel) {
  const std::vector<double> probe = golden_.at("probe");
  std::int64_t rows_per_layer = 0;
  for (const Role role : kProjections) {
    if (model_.has(role)) rows_per_layer += is_attention(role) ? heads().count(role) : 1;
  }
  ASSERT_EQ(golden_.at("projections").size(), rows_per_layer * model_.dimensions().layers);

  for (const json& row : golden_.at("projections")) {
    const RowId id = row_id(row);
    SCOPED_TRACE(id.text());
    const std::vector<double> expected = row.at("values");
    const Matrix<double> matrix = weight(id.layer, id.role);
    const MatrixView<const double> part =
        id.head ? head_slice(matrix.view(), id.role, *id.head, heads()) : matrix.view();
    ASSERT_EQ(part.rows, std::ssize(expected));
    ASSERT_LE(part.cols, std::ssize(probe));
    for (std::int64_t out = 0; out < part.rows; ++out) {
      double sum = 0, row_square = 0, probe_square = 0;
      for (std::int64_t in = 0; in < part.cols; ++in) {
        const double x = probe[static_cast<std::size_t>(in)];
        sum += part(out, in) * x;
        row_square += part(out, in) * part(out, in);
        probe_square += x * x;
      }
      // Two dot products of the same values in different order.
      const double rounding =
          2 * static_cast<double>(part.cols) * kEpsilon * std::sqrt(row_square * probe_square);
      const double wanted = expected[static_cast<std::size_t>(out)];
      ASSERT_NEAR(sum, wanted, rounding + printed_rounding(wanted)) << "output " << out;
    }
  }
}

// ---- Spectra ------------------------------------------------------------------------------------

/// Tolerances of a row's measures, derived from those of its singular values.
struct Tolerances {
  std::vector<double> values;
  double first_relative = 0;  // relative to σ_1
  double sum = 0;             // absolute, of Σσ
  double entropy = 0;         // of -Σ p ln p, so relative to its exponential
  double last_relative = 0;   // relative to σ_k
};

/// An eigenvalue of the Gram matrix has an error of at most δ = c (m + n) ε σ_1², so its root σ has
/// at most δ / σ, and at most sqrt(δ). The reference, an SVD of the matrix itself, adds (m + n) ε
/// σ_1. `factors`: ‖left‖ ‖right‖ of a product, which both sides round by ε times that value; or 0.
Tolerances tolerances(const std::vector<double>& expected, double dimensions, double factors) {
  const double first = expected.front();
  const double delta = 2 * dimensions * kEpsilon * first * first;
  const double direct = 2 * dimensions * kEpsilon * std::max(first, factors);
  Tolerances out;
  for (const double value : expected) {
    out.values.push_back(std::min(delta / value, std::sqrt(delta)) + direct);
    out.sum += out.values.back();
  }
  double total = 0, entropy = 0;
  for (const double value : expected) total += value;
  for (const double value : expected) entropy -= value / total * std::log(value / total);
  // d(-Σ p ln p) / dσ_i = -(ln p_i + entropy) / Σσ. Twice this bound covers the higher orders.
  for (std::size_t index = 0; index < expected.size(); ++index) {
    const double slope = std::abs(std::log(expected[index] / total) + entropy) / total;
    out.entropy += 2 * slope * (out.values[index] + printed_rounding(expected[index]));
  }
  out.first_relative = out.values.front() / first;
  out.last_relative = out.values.back() / expected.back();
  return out;
}

void expect_relative(double got, const json& row, const char* name, double tolerance) {
  const double expected = row.at(name);
  EXPECT_NEAR(got / expected, 1, tolerance) << name;
}

void check_spectrum(const std::vector<double>& got, const SpectrumShape& shape, double factors,
                    const json& row) {
  EXPECT_EQ(row.at("shape"), json({shape.rows, shape.cols}));
  const std::vector<double> expected = row.at("singular_values");
  ASSERT_EQ(got.size(), expected.size());
  const Tolerances allowed =
      tolerances(expected, static_cast<double>(shape.rows + shape.cols), factors);
  for (std::size_t index = 0; index < expected.size(); ++index) {
    // The documented accuracy is 1e-6 σ_1. The derived tolerance must be much smaller.
    ASSERT_LT(allowed.values[index], 2e-7 * expected.front());
    ASSERT_NEAR(got[index], expected[index],
                allowed.values[index] + printed_rounding(expected[index]))
        << "singular value " << index;
  }

  const SpectrumMeasures measures = measure_spectrum(got, shape, kSpectrumThresholds);
  for (std::size_t index = 0; index < kSpectrumThresholds.size(); ++index) {
    const std::string threshold = shortest_decimal(kSpectrumThresholds[index]);
    EXPECT_EQ(measures.energy_ranks[index], row.at("energy_rank").at(threshold)) << threshold;
  }
  EXPECT_EQ(measures.max_possible_rank, row.at("max_possible_rank"));
  EXPECT_EQ(measures.numerical_rank, row.at("numerical_rank"));

  // Σσ² and Σσ⁴ depend only on the large values.
  const double quotient = 8 * allowed.first_relative * static_cast<double>(expected.size());
  ASSERT_LT(quotient, 1e-9);
  expect_relative(measures.stable_rank, row, "stable_rank", quotient);
  expect_relative(measures.participation_ratio, row, "participation_ratio", quotient);
  expect_relative(measures.spectral_norm, row, "spectral_norm", allowed.first_relative);
  expect_relative(measures.frobenius_norm, row, "frobenius_norm", quotient);
  expect_relative(measures.nuclear_norm, row, "nuclear_norm",
                  allowed.sum / row.at("nuclear_norm").get<double>());
  expect_relative(measures.effective_rank, row, "effective_rank", allowed.entropy);
  ASSERT_EQ(measures.condition_number.has_value(), !row.at("condition_number").is_null());
  if (measures.condition_number) {
    ASSERT_LT(allowed.last_relative, 1e-2);
    expect_relative(*measures.condition_number, row, "condition_number",
                    2 * (allowed.first_relative + allowed.last_relative));
  }
}

TEST_P(Golden, SpectraEqualThoseOfTheModules) {
  std::int64_t rows_per_layer = 0;
  for (const std::string_view name : kRoleNames) {
    const Role role = role_from_name(name).value();
    if (role == Role::kv) continue;  // tests/features/spectrum/kv_golden_test.cpp
    if (model_.has(role)) rows_per_layer += 1 + heads().count(role);
  }
  ASSERT_EQ(golden_.at("spectra").size(), rows_per_layer * model_.dimensions().layers);

  for (const json& row : golden_.at("spectra")) {
    const RowId id = row_id(row);
    SCOPED_TRACE(id.text());
    if (is_product(id.role)) {
      const bool qk = id.role == Role::qk;
      const Matrix<double> left = weight(id.layer, qk ? Role::query : Role::output);
      const Matrix<double> right = weight(id.layer, qk ? Role::key : Role::value);
      const CircuitWeights weights = {id.role, left.view(), right.view(), heads()};
      const Matrix<double> summed = summed_left_factor(weights);
      const CircuitFactors factors =
          id.head ? head_factors(weights, *id.head) : CircuitFactors{summed.view(), right.view()};
      const std::int64_t width = factors.left.cols;
      check_spectrum(product_singular_values(factors.left, factors.right).values, {width, width},
                     test::frobenius_norm(factors.left) * test::frobenius_norm(factors.right), row);
    } else {
      const Matrix<double> matrix = weight(id.layer, id.role);
      const MatrixView<const double> part =
          id.head ? head_slice(matrix.view(), id.role, *id.head, heads()) : matrix.view();
      check_spectrum(singular_values(part).values, {part.rows, part.cols}, /*factors=*/0, row);
    }
    if (HasFatalFailure()) return;
  }
}

// Analyses of a whole projection read the float32 matrix, not a float64 copy.
TEST_P(Golden, SpectraOfFloat32MatricesAreTheSame) {
  for (const json& row : golden_.at("spectra")) {
    const RowId id = row_id(row);
    if (is_product(id.role) || id.head) continue;
    SCOPED_TRACE(id.text());
    std::visit(
        [&](const auto& decoded) {
          check_spectrum(singular_values(decoded.view()).values, {decoded.rows(), decoded.cols()},
                         /*factors=*/0, row);
        },
        decode_exact(model_.weight(id.layer, id.role).matrix));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Golden, testing::ValuesIn(golden_cases()),
                         [](const testing::TestParamInfo<std::string>& golden) {
                           std::string name = golden.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace attnscope
