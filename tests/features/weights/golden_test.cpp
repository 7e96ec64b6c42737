// `weights` and `similarity` of every tiny checkpoint and of trained ones, compared with
// tests/golden/weights and tests/golden/similarity: float64 NumPy on the matrices of the
// transformers modules.
#include <cmath>
#include <filesystem>
#include <map>
#include <tuple>

#include "tests/support/program.h"

namespace attnscope::test {
namespace {

/// Golden files of checkpoints outside tests/data, and their paths relative to the repository root.
const std::map<std::string, std::string> kTrained = {
    {"trained/shakespeare-gpt2", "examples/shakespeare-gpt2"},
    {"trained/shakespeare-llama", "examples/shakespeare-llama"},
    {"trained/stories260K", "../shared/models/stories260K"},
    {"trained/capp-gpt2", "../shared/models/capp-gpt2"}};

std::vector<std::string> golden_names() {
  std::vector<std::string> names = data_names();
  for (const auto& [name, folder] : kTrained) names.push_back(name);
  return names;
}

/// The parameter is the name of a golden file without its file extension.
class WeightsGolden : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(model())) GTEST_SKIP() << model() << " is not here";
  }

  std::string model() const {
    const auto trained = kTrained.find(GetParam());
    return trained == kTrained.end() ? data_path(GetParam()) : source_path(trained->second);
  }

  json golden(const std::string& command) const {
    return json::parse(
        read_file(source_path("tests/golden/" + command + "/" + GetParam() + ".json")));
  }
};

/// 12 significant digits are printed.
double rounding(double value) { return 5e-12 * std::abs(value); }

constexpr const char* kMoments[] = {"mean", "std", "min", "max", "skewness", "excess_kurtosis"};
constexpr const char* kFractions[] = {"0.01", "0.05", "0.25", "0.5", "0.75", "0.95", "0.99"};

/// Sums of n powers in another order than NumPy's: an error of n ε times the sum of magnitudes.
/// This sum is at most 100 here, in units of the standard deviation.
void compare_distribution(const json& got, const json& expected) {
  EXPECT_EQ(got["count"], expected["count"]);
  const double spread = expected["moments"][1];
  const double tolerance = 100 * expected["count"].get<double>() * 0x1p-52;
  ASSERT_LT(tolerance, 1e-8);
  for (std::size_t index = 0; index < std::size(kMoments); ++index) {
    const double wanted = expected["moments"][index];
    const double unit = index < 4 ? spread : 1;
    EXPECT_NEAR(got[kMoments[index]].get<double>(), wanted, tolerance * unit + rounding(wanted))
        << kMoments[index];
  }
  ASSERT_EQ(got["quantiles"].size(), std::size(kFractions));
  for (std::size_t index = 0; index < std::size(kFractions); ++index) {
    const double wanted = expected["quantiles"][index];
    EXPECT_NEAR(got["quantiles"][kFractions[index]].get<double>(), wanted, rounding(wanted))
        << kFractions[index];
  }
}

json find_place(const json& rows, const json& like) {
  return find_row(rows, like["layer"], like["matrix"], like["head"]);
}

TEST_P(WeightsGolden, DistributionsEqualNumPy) {
  const json expected = golden("weights");
  const Words command = {"weights", model(), "--per-head", "--histogram"};
  const json fixed = report_of(command)["rows"];
  const json by_rule = report_of(command + Words{"--bins", "fd"})["rows"];
  ASSERT_EQ(fixed.size(), expected.size());
  for (const json& row : expected) {
    SCOPED_TRACE(json({row["layer"], row["matrix"], row["head"]}).dump());
    const json got = find_place(fixed, row);
    compare_distribution(got, row);
    if (!row.contains("fixed")) continue;
    EXPECT_EQ(got["histogram"]["counts"], row["fixed"]);
    EXPECT_EQ(got["histogram"]["outside"], row["outside"]);
    const json histogram = find_place(by_rule, row)["histogram"];
    EXPECT_EQ(histogram["counts"], row["fd"]);
    EXPECT_EQ(histogram["edges"].front(), row["fd_ends"][0]);
    EXPECT_EQ(histogram["edges"].back(), row["fd_ends"][1]);
    EXPECT_EQ(histogram["outside"], 0);
  }
}

json scope_row(const json& rows, const json& layer, const json& matrix, const json& scope) {
  for (const json& row : rows) {
    if (row["layer"] == layer && row["matrix"] == matrix && row["scope"] == scope) return row;
  }
  ADD_FAILURE() << "no row of " << layer << " " << matrix << " " << scope;
  return {};
}

void compare_histogram(const json& got, const json& expected) {
  for (const std::size_t end : {0, 1}) {
    const json& edge = end == 0 ? got["edges"].front() : got["edges"].back();
    EXPECT_NEAR(edge.get<double>(), expected["ends"][end].get<double>(), 1e-11);
  }
  // null: a cosine is so close to a bin edge that rounding decides.
  if (expected["counts"].is_null()) return;
  EXPECT_EQ(got["counts"], expected["counts"]);
}

TEST_P(WeightsGolden, CosinesEqualNumPy) {
  const json expected = golden("similarity");
  const Words command = {"similarity", model(), "--histogram"};
  const json fixed = report_of(command)["rows"];
  const json by_rule = report_of(command + Words{"--bins", "fd"})["rows"];
  ASSERT_EQ(fixed.size(), 3 * expected.size());
  for (const json& place : expected) {
    for (const json& row : place["scopes"]) {
      SCOPED_TRACE(json({place["layer"], place["matrix"], row["scope"]}).dump());
      const json got = scope_row(fixed, place["layer"], place["matrix"], row["scope"]);
      EXPECT_EQ(got["pairs"], row["pairs"]);
      EXPECT_EQ(got["zero_vectors"], 0);
      EXPECT_EQ(got["mean"].is_null(), row["mean"].is_null());
      if (row["mean"].is_null()) continue;
      EXPECT_NEAR(got["mean"].get<double>(), row["mean"].get<double>(), 1e-12);
      EXPECT_NEAR(got["std"].get<double>(), row["std"].get<double>(), 1e-11);
      compare_histogram(got["histogram"], row["fixed"]);
      const json other = scope_row(by_rule, place["layer"], place["matrix"], row["scope"]);
      compare_histogram(other["histogram"], row["fd"]);
    }
  }
}

TEST_P(WeightsGolden, OverlapsFollowFromPrincipalAngles) {
  const json rows = report_of({"similarity", model(), "--overlap"})["rows"];
  const json expected = golden("similarity");
  ASSERT_EQ(rows.size(), expected.size());
  for (std::size_t index = 0; index < rows.size(); ++index) {
    SCOPED_TRACE(json({expected[index]["layer"], expected[index]["matrix"]}).dump());
    EXPECT_EQ(rows[index]["layer"], expected[index]["layer"]);
    EXPECT_EQ(rows[index]["matrix"], expected[index]["matrix"]);
    const json& got = rows[index]["overlap"];
    const json& wanted = expected[index]["overlap"];
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t a = 0; a < got.size(); ++a) {
      ASSERT_EQ(got[a].size(), got.size());
      for (std::size_t b = 0; b < got.size(); ++b) {
        // A basis has an error of about ε times the condition number of the head, which is below
        // 1e3 here.
        EXPECT_NEAR(got[a][b].get<double>(), wanted[a][b].get<double>(), 1e-11);
      }
    }
  }
}

TEST_P(WeightsGolden, TheMatrixOfOneHeadEqualsThatOfItsRows) {
  for (const json& place : golden("similarity")) {
    const json report =
        report_of({"similarity", model(), "--matrix", place["matrix"].get<std::string>(),
                   "--head-matrix", place["layer"].dump() + ",0"});
    const json& last = report["rows"].back();
    EXPECT_EQ(last["row"], report["rows"].size() - 1);
    ASSERT_EQ(last["values"].size(), report["rows"].size());
    for (std::size_t col = 0; col < last["values"].size(); ++col) {
      EXPECT_NEAR(last["values"][col].get<double>(), place["last_row_of_head_0"][col].get<double>(),
                  1e-11);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, WeightsGolden, testing::ValuesIn(golden_names()),
                         [](const testing::TestParamInfo<std::string>& golden) {
                           std::string name = golden.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

}  // namespace
}  // namespace attnscope::test
