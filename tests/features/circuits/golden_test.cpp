// `circuits` on every tiny checkpoint and in every variant, compared with tests/golden/circuits:
// float64 NumPy on the D × D products. Biases, gains and rotary angles were recorded from
// transformers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/golden_variants.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kRoot = ATTNSCOPE_SOURCE_DIR;

json circuits_report(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "circuits");
  arguments.insert(arguments.end(), {"--format", "json", "--quiet"});
  const test::RunResult result = test::run_attnscope(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out);
}

/// Layer, circuit, head; head is -1 for the sum over heads.
using RowKey = std::tuple<int, std::string, int>;

RowKey key_of(const json& layer, const json& circuit, const json& head) {
  return {layer.get<int>(), circuit.get<std::string>(), head.is_null() ? -1 : head.get<int>()};
}

void compare_rank(const json& got, const json& expected, const std::string& what) {
  // null: the measure does not exist, or rounding decides whether the threshold is reached.
  if (expected.is_null()) return;
  EXPECT_EQ(got, expected) << what;
}

void compare_row(const json& got, const json& expected, const json& thresholds,
                 const std::vector<std::string>& columns, double tolerance) {
  const bool qk = got.at("circuit") == "qk";
  for (std::size_t column = 3; column < columns.size(); ++column) {
    const std::string& name = columns[column];
    const json& wanted = expected[column];
    if (!name.ends_with("_rank")) {
      ASSERT_EQ(got.at(name).is_null(), wanted.is_null()) << name;
      if (wanted.is_null()) continue;
      const bool is_norm = name == "frobenius_norm" || name == "identity_residual";
      const double scale = is_norm ? std::max(1.0, wanted.get<double>()) : 1.0;
      EXPECT_NEAR(got.at(name).get<double>(), wanted.get<double>(), tolerance * scale) << name;
      continue;
    }
    for (std::size_t index = 0; index < thresholds.size(); ++index) {
      const std::string threshold = thresholds[index].dump();
      const std::string what = name + " at " + threshold;
      if (name == "left_rank" || name == "right_rank") {
        const char* factor = name == "left_rank" ? (qk ? "q" : "o") : (qk ? "k" : "v");
        compare_rank(got.at("factor_rank").at(threshold).at(factor), wanted[index], what);
      } else {
        compare_rank(got.at(name).at(threshold), wanted[index], what);
      }
    }
  }
  for (const auto& [threshold, rank] : got.at("energy_rank").items()) {
    const json& factors = got.at("factor_rank").at(threshold);
    EXPECT_EQ(got.at("rank_drop").at(threshold).get<int>(),
              factors.at(qk ? "k" : "v").get<int>() - rank.get<int>());
    const json& head_space = got.at("head_space_rank").at(threshold);
    if (head_space.is_null()) {
      EXPECT_TRUE(got.at("head_space_rank_drop").at(threshold).is_null());
      continue;
    }
    EXPECT_EQ(got.at("head_space_rank_drop").at(threshold).get<int>(),
              factors.at(qk ? "q" : "o").get<int>() - head_space.get<int>());
  }
  if (got.at("identity_cosine").is_null()) return;
  const double cosine = got.at("identity_cosine"), distance = got.at("identity_distance");
  EXPECT_NEAR(distance * distance, 1 - cosine * cosine, 1e-12);
  EXPECT_LE(std::abs(cosine), got.at("identity_cosine_bound").get<double>() + 1e-12);
}

void compare_report(const json& report, const json& golden, const json& rows, double tolerance) {
  std::map<RowKey, json> got;
  for (const json& row : report.at("rows")) {
    got.emplace(key_of(row.at("layer"), row.at("circuit"), row.at("head")), row);
  }
  const std::vector<std::string> columns = golden.at("columns");
  for (const json& row : rows) {
    const auto key = key_of(row[0], row[1], row[2]);
    SCOPED_TRACE("layer " + row[0].dump() + ", " + row[1].dump() + ", head " + row[2].dump());
    ASSERT_TRUE(got.contains(key));
    compare_row(got.at(key), row, golden.at("thresholds"), columns, tolerance);
  }
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kRoot / "tests/golden/circuits")) {
    if (entry.is_regular_file()) names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string test_name(const testing::TestParamInfo<std::string>& name) {
  std::string text = name.param;
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

// RoPE frequencies are float32, with a relative error of 6e-8. Over 21 tokens, a pair is rotated at
// most 1.3e-6 too far.
constexpr double kTransposedTolerance = 2e-6;

class CircuitsGolden : public testing::TestWithParam<std::string> {
 protected:
  const std::string folder_ = (kRoot / "tests/data" / GetParam()).string();
  const json golden_ = [] {
    std::ifstream file(kRoot / "tests/golden/circuits" / (GetParam() + ".json"));
    return json::parse(file);
  }();
  // Rounding of printed digits, and of sums over a few thousand float64 products.
  static constexpr double kTolerance = 1e-9;
};

TEST_P(CircuitsGolden, EqualsNumPy) {
  const json report = circuits_report({folder_});
  EXPECT_EQ(report.at("rows").size(), golden_.at("plain").size());
  compare_report(report, golden_, golden_.at("plain"), kTolerance);
}

TEST_P(CircuitsGolden, FoldsThePrecedingNorm) {
  compare_report(circuits_report({folder_, "--fold-norm"}), golden_, golden_.at("fold_norm"),
                 kTolerance);
}

TEST_P(CircuitsGolden, IncludesBiasesAsACoordinate) {
  compare_report(circuits_report({folder_, "--with-bias"}), golden_, golden_.at("with_bias"),
                 kTolerance);
}

TEST_P(CircuitsGolden, RotatesKeysByTheOffset) {
  if (!golden_.contains("rope_offset")) {
    const auto refused = test::run_attnscope({"circuits", folder_, "--rope-offset", "-3"});
    EXPECT_EQ(refused.exit_code, 2) << refused.err;
    EXPECT_NE(refused.err.find("no rotary positions"), std::string::npos) << refused.err;
    return;
  }
  compare_report(circuits_report({folder_, "--rope-offset", "-3", "--circuit", "qk"}), golden_,
                 golden_.at("rope_offset"), kTransposedTolerance);
}

TEST_P(CircuitsGolden, ComposesHeadsOfDifferentLayers) {
  const json report = circuits_report({folder_, "--composition"});
  using PairKey = std::tuple<int, int, std::string, int, int>;
  std::map<PairKey, json> got;
  for (const json& row : report.at("rows")) {
    got.emplace(PairKey{row.at("layer"), row.at("receiver_layer"), row.at("kind"),
                        row.at("receiver_head"), row.at("head")},
                row);
  }
  std::size_t count = 0;
  const double width = report.at("models").at(0).at("hidden_size");
  for (const json& group : golden_.at("composition")) {
    for (std::size_t later = 0; later < group[3].size(); ++later) {
      for (std::size_t earlier = 0; earlier < group[3][later].size(); ++earlier, ++count) {
        const PairKey key{group[0], group[1], group[2], static_cast<int>(later),
                          static_cast<int>(earlier)};
        ASSERT_TRUE(got.contains(key));
        const double score = got.at(key).at("score");
        ASSERT_NEAR(score, group[3][later][earlier].get<double>(), kTolerance);
        ASSERT_NEAR(got.at(key).at("excess").get<double>(), score - 1 / std::sqrt(width), 1e-15);
      }
    }
  }
  EXPECT_EQ(count, got.size());
}

struct TrainedModel {
  const char* name;
  const char* folder;  // relative to the repository root
};

void PrintTo(const TrainedModel& model, std::ostream* out) { *out << model.name; }

class TrainedCircuits : public testing::TestWithParam<TrainedModel> {};

TEST_P(TrainedCircuits, EqualsNumPy) {
  const fs::path folder = kRoot / GetParam().folder;
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not here";
  std::ifstream file(kRoot / "tests/golden/circuits/trained" /
                     (std::string(GetParam().name) + ".json"));
  const json golden = json::parse(file);
  compare_report(circuits_report({folder.string()}), golden, golden.at("plain"), 1e-9);
}

INSTANTIATE_TEST_SUITE_P(
    Models, TrainedCircuits,
    testing::Values(TrainedModel{"shakespeare-gpt2", "examples/shakespeare-gpt2"},
                    TrainedModel{"shakespeare-llama", "examples/shakespeare-llama"},
                    TrainedModel{"stories260K", "../shared/models/stories260K"},
                    TrainedModel{"capp-gpt2", "../shared/models/capp-gpt2"}),
    [](const testing::TestParamInfo<TrainedModel>& model) {
      std::string name = model.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(CircuitsGoldenScaled, SupportsEveryRopeScaling) {
  std::ifstream file(kRoot / "tests/golden/circuits/scaled/figures.json");
  const json golden = json::parse(file);
  for (const json& scaled : golden.at("cases")) {
    const test::TempFolder folder;
    const test::Variant variant{.model = scaled.at("folder"), .name = scaled.at("variant")};
    fs::copy_file(variant.folder() / "model.safetensors", folder.path() / "model.safetensors");
    folder.write("config.json", test::config_of(variant).dump());
    const std::string offset = scaled.at("offset").dump();
    SCOPED_TRACE(variant.title() + " at " + offset);
    const json report =
        circuits_report({folder.path().string(), "--rope-offset", offset, "--circuit", "qk"});
    compare_report(report, golden, scaled.at("rows"), kTransposedTolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, CircuitsGolden, testing::ValuesIn(case_names()), test_name);

}  // namespace
}  // namespace attnscope
