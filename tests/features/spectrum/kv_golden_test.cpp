// W_K stacked on W_V for every checkpoint under tests/data, compared with tests/golden/kv. Those
// values come from running the transformers modules (tools/golden_random_baseline.py).
#include <cmath>

#include "tests/support/program.h"

namespace attnscope::test {
namespace {

class KeysAndValuesGolden : public testing::TestWithParam<std::string> {};

TEST_P(KeysAndValuesGolden, SpectraEqualThoseOfTheModules) {
  const json golden =
      json::parse(read_file(source_path("tests/golden/kv/" + GetParam() + ".json")));
  const json report = report_of({"spectrum", data_path(GetParam()), "--matrix", "kv", "--per-head",
                                 "--values", "--rank", "1,0.1D,1000000"});
  ASSERT_EQ(report["rows"].size(), golden["rows"].size());
  for (const json& expected : golden["rows"]) {
    const json row = find_row(report["rows"], expected["layer"], "kv", expected["head"]);
    SCOPED_TRACE("layer " + expected["layer"].dump() + ", head " + expected["head"].dump());
    ASSERT_EQ(row["shape"], expected["shape"]);
    for (const auto& [threshold, rank] : expected["energy_rank"].items()) {
      if (rank.is_null()) continue;  // too close to a threshold, where rounding decides
      EXPECT_EQ(row["energy_rank"][threshold], rank) << threshold;
    }
    const std::vector<double> values = expected["singular_values"];
    const double first = values.front();
    // An eigenvalue of the Gram matrix has an error of δ = c (m + n) ε σ_1², and its square root at
    // most sqrt(δ). 12 digits are printed.
    const double dimensions = row["shape"][0].get<double>() + row["shape"][1].get<double>();
    const double delta = 4 * dimensions * 0x1p-52;
    ASSERT_EQ(row["singular_values"].size(), values.size());
    for (std::size_t index = 0; index < values.size(); ++index) {
      EXPECT_NEAR(row["singular_values"][index].get<double>(), values[index],
                  first * (std::min(delta * first / values[index], std::sqrt(delta)) + 5e-12));
    }
    // Energy shares depend on squares, each with an error of δ σ_1², divided by a sum of at least
    // σ_1².
    const double share = delta * static_cast<double>(values.size()) + 1e-11;
    const char* ranks[] = {"1", "0.1D", "1000000"};
    for (std::size_t index = 0; index < 3; ++index) {
      EXPECT_NEAR(row["energy_at_rank"][ranks[index]].get<double>(),
                  expected["energy_at_rank"][index].get<double>(), share)
          << ranks[index];
    }
    EXPECT_EQ(row["energy_at_rank"]["1000000"], 1);
    EXPECT_NEAR(row["frobenius_norm"].get<double>() / expected["frobenius_norm"].get<double>(), 1,
                1e-11);
  }
}

TEST(StackedGoldenCases, CoverEveryCheckpoint) {
  Words expected;
  for (const std::string& name : data_names()) expected.push_back(name + ".json");
  EXPECT_EQ(files_in(source_path("tests/golden/kv")), sorted(expected));
}

INSTANTIATE_TEST_SUITE_P(Cases, KeysAndValuesGolden, testing::ValuesIn(data_names()),
                         [](const testing::TestParamInfo<std::string>& golden) {
                           std::string name = golden.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace attnscope::test
