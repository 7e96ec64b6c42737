// Models with attention next to Mamba, or in some layers only, compared with tests/golden/hybrid:
// float64 NumPy on the matrices of transformers' modules (tools/golden_hybrid.py).
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

/// Rounding of printed digits, and of sums over some hundred float64 products.
constexpr double kHybridTolerance = 1e-9;

class HybridGolden : public testing::TestWithParam<const char*> {
 protected:
  const std::string folder_ = data_path(std::string("hybrid/") + GetParam());
  const json golden_ = json::parse(
      read_file(source_path(std::string("tests/golden/hybrid/") + GetParam() + ".json")));
};

TEST_P(HybridGolden, SpectraEqualThoseOfTheAttentionModules) {
  for (const auto& [matrix, first] : golden_.begin()->items()) {
    SCOPED_TRACE(matrix);
    const json report =
        report_of({"spectrum", folder_, "--matrix", matrix, "--per-head", "--values", "--quiet"});
    EXPECT_TRUE(report["skipped"].empty()) << report["skipped"];
    ASSERT_EQ(report["rows"].size(), golden_.size() * first.size());
    for (const json& row : report["rows"]) {
      const std::string layer = std::to_string(row["layer"].get<int>());
      ASSERT_TRUE(golden_.contains(layer)) << "layer " << layer << " does not attend";
      const std::size_t at = row["head"].is_null() ? 0 : row["head"].get<std::size_t>() + 1;
      const auto wanted = golden_[layer][matrix][at].get<std::vector<double>>();
      const auto got = row["singular_values"].get<std::vector<double>>();
      ASSERT_EQ(got.size(), wanted.size()) << row["head"];
      for (std::size_t value = 0; value < got.size(); ++value) {
        EXPECT_NEAR(got[value], wanted[value], kHybridTolerance * wanted[0]) << row["head"];
      }
    }
  }
}

/// These experts read ten dimensions of a latent, not the 24 of the residual stream.
TEST(HybridExperts, SpectraEqualThoseOfExpertOnlyLayers) {
  const json golden =
      json::parse(read_file(source_path("tests/golden/hybrid/nemotron_h-experts.json")));
  for (const auto& [matrix, first] : golden.begin()->items()) {
    SCOPED_TRACE(matrix);
    std::vector<std::string> command = {
        "spectrum", data_path("hybrid/nemotron_h"), "--matrix", matrix, "--layers", "3", "--values",
        "--quiet"};
    if (first.size() > 1) command.insert(command.end(), {"--experts", "all"});
    const json report = report_of(command);
    std::size_t seen = 0;
    for (const json& row : report["rows"]) {
      if (row.contains("experts")) continue;  // the summary of all experts
      const json& wanted = golden["3"][matrix][row.value("expert", 0)];
      ASSERT_EQ(row["singular_values"].size(), wanted.size());
      for (std::size_t value = 0; value < wanted.size(); ++value) {
        EXPECT_NEAR(row["singular_values"][value].get<double>(), wanted[value].get<double>(),
                    kHybridTolerance * wanted[0].get<double>());
      }
      ++seen;
    }
    EXPECT_EQ(seen, golden["3"][matrix].size());
  }
}

TEST_P(HybridGolden, InfoListsTheAttentionLayers) {
  const json facts = report_of({"info", folder_})["models"][0];
  std::vector<int> layers;
  for (const auto& [layer, matrices] : golden_.items()) layers.push_back(std::stoi(layer));
  EXPECT_EQ(facts["attention_layers"], json(layers));
  EXPECT_FALSE(facts["mixer"].get<std::string>().empty());
  EXPECT_EQ(facts["architecture"],
            std::string(GetParam()).substr(0, std::string(GetParam()).find('-')));
}

INSTANTIATE_TEST_SUITE_P(Cases, HybridGolden,
                         testing::Values("granitemoehybrid", "granitemoehybrid-dense", "nemotron_h",
                                         "jamba", "falcon_h1", "zamba2", "kimi_linear"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace attnscope::test
