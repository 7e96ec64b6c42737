// Trained checkpoints through the whole command, compared with tests/golden/trained: float64 NumPy
// SVDs of every matrix, head and circuit. Circuits are formed as D × D products.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/run_command.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kReferences = ATTNSCOPE_SOURCE_DIR;

struct TrainedReference {
  const char* name;
  const char* folder;  // relative to the repository root
};

void PrintTo(const TrainedReference& model, std::ostream* out) { *out << model.name; }

class TrainedGolden : public testing::TestWithParam<TrainedReference> {};

/// Layer, matrix, head; head is -1 for the whole matrix.
using ReferenceKey = std::tuple<int, std::string, int>;

std::map<ReferenceKey, json> rows_by_key(const json& rows) {
  std::map<ReferenceKey, json> keyed;
  for (const json& row : rows) {
    const int head = row.at("head").is_null() ? -1 : row.at("head").get<int>();
    keyed.emplace(
        ReferenceKey{row.at("layer").get<int>(), row.at("matrix").get<std::string>(), head}, row);
  }
  return keyed;
}

void compare_with_reference(const json& got, const json& expected) {
  const std::vector<double> values = got.at("singular_values");
  const std::vector<double> wanted = expected.at("singular_values");
  ASSERT_EQ(values.size(), wanted.size());
  // The documented accuracy is 1e-6 σ_1. The implementation takes square roots of float64 Gram
  // eigenvalues. Their error is at most about sqrt(k 2^-52) σ_1, 2e-7 for the widest of these
  // matrices.
  const double tolerance = std::sqrt(static_cast<double>(wanted.size()) * 0x1p-52) * wanted.front();
  ASSERT_LT(tolerance, 1e-6 * wanted.front());
  double total = 0, sum = 0;
  for (const double value : wanted) total += value * value;
  const std::vector<double> cumulative = got.at("cumulative_energy");
  for (std::size_t index = 0; index < wanted.size(); ++index) {
    ASSERT_NEAR(values[index], wanted[index], tolerance) << "singular value " << index;
    sum += wanted[index] * wanted[index];
    // Squares depend on the large values, which are printed with 12 digits.
    ASSERT_NEAR(cumulative[index], sum / total, 1e-10) << "cumulative energy " << index;
  }
  for (const auto& [threshold, rank] : expected.at("energy_rank").items()) {
    // null: rounding decides whether the threshold is reached.
    if (rank.is_null()) continue;
    EXPECT_EQ(got.at("energy_rank").at(threshold), rank) << threshold;
  }
  for (const char* name : {"shape", "max_possible_rank"})
    EXPECT_EQ(got.at(name), expected.at(name));
  if (!expected.at("numerical_rank").is_null()) {
    EXPECT_EQ(got.at("numerical_rank"), expected.at("numerical_rank"));
  }
  for (const char* name :
       {"stable_rank", "participation_ratio", "spectral_norm", "frobenius_norm"}) {
    const double number = expected.at(name);
    EXPECT_NEAR(got.at(name).get<double>(), number, 1e-10 * number) << name;
  }
  const double nuclear = expected.at("nuclear_norm"), entropy = expected.at("effective_rank");
  EXPECT_NEAR(got.at("nuclear_norm").get<double>(), nuclear,
              tolerance * static_cast<double>(wanted.size()));
  EXPECT_NEAR(got.at("effective_rank").get<double>(), entropy, 1e-5 * entropy);
  EXPECT_EQ(got.at("condition_number").is_null(), expected.at("condition_number").is_null());
}

TEST_P(TrainedGolden, EveryRowEqualsNumPy) {
  const fs::path folder = kReferences / GetParam().folder;
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not here";
  std::ifstream file(kReferences / "tests/golden/trained" /
                     (std::string(GetParam().name) + ".json"));
  const json golden = json::parse(file);

  std::string matrices = "q,k,v,o,up,down,qk,ov";
  for (const json& row : golden.at("spectra")) {
    if (row.at("matrix") == "gate") matrices = "q,k,v,o,gate,up,down,qk,ov";
  }
  const test::RunResult result =
      test::run_attnscope({"spectrum", folder.string(), "--format", "json", "--values",
                           "--per-head", "--energy", "0.6,0.8,0.9,0.99", "--matrix", matrices});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json report = json::parse(result.out);
  const auto got = rows_by_key(report.at("rows"));
  const auto expected = rows_by_key(golden.at("spectra"));
  ASSERT_EQ(got.size(), report.at("rows").size());
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [key, row] : expected) {
    const auto& [layer, matrix, head] = key;
    SCOPED_TRACE("layer " + std::to_string(layer) + ", " + matrix + ", head " +
                 std::to_string(head));
    ASSERT_TRUE(got.contains(key));
    compare_with_reference(got.at(key), row);
    if (HasFatalFailure()) return;
  }

  json facts = report.at("models").at(0);
  for (const char* name : {"architecture", "parameters", "attention_parameters", "layers", "heads",
                           "kv_heads", "head_dim", "hidden_size", "intermediate_size", "vocab_size",
                           "context_length", "dtype", "kv_cache_bytes_per_token", "tied_embedding"}) {
    EXPECT_EQ(facts.at(name), golden.at("facts").at(name)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, TrainedGolden,
    testing::Values(TrainedReference{"shakespeare-gpt2", "examples/shakespeare-gpt2"},
                    TrainedReference{"shakespeare-llama", "examples/shakespeare-llama"},
                    TrainedReference{"stories260K", "../shared/models/stories260K"},
                    TrainedReference{"capp-gpt2", "../shared/models/capp-gpt2"}),
    [](const testing::TestParamInfo<TrainedReference>& model) {
      std::string name = model.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace attnscope
