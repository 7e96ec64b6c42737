// JSON output: field names, conventions, and the same bytes in every run.
#include <cmath>

#include "tests/support/program.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

const Words kFacts = sorted({"name", "architecture", "parameters", "attention_parameters", "layers",
                             "heads", "kv_heads", "head_dim", "hidden_size", "intermediate_size",
                             "vocab_size", "context_length", "dtype", "bytes",
                             "kv_cache_bytes_per_token", "tied_embedding", "causal", "rotary"});

const Words kMeasures = {"model",
                         "layer",
                         "matrix",
                         "head",
                         "shape",
                         "energy_rank",
                         "random_energy_rank",
                         "stable_rank",
                         "effective_rank",
                         "participation_ratio",
                         "numerical_rank",
                         "max_possible_rank",
                         "spectral_norm",
                         "frobenius_norm",
                         "nuclear_norm",
                         "condition_number"};

const Words kAllMatrices = {"q", "k", "v", "o", "gate", "up", "down", "qk", "ov"};

TEST(CliJson, SpectrumHasTheDocumentedFields) {
  const json report = report_of({"spectrum", data_path("llama"), "--layers", "1", "--matrix",
                                 "q,qk", "--per-head", "--energy", "0.99,0.60"});
  EXPECT_EQ(keys_of(report),
            sorted({"schema", "command", "models", "parameters", "rows", "skipped"}));
  EXPECT_EQ(report["schema"], "attnscope/2");
  EXPECT_EQ(report["command"], "spectrum");
  EXPECT_EQ(report["skipped"], json::array());

  ASSERT_EQ(report["models"].size(), 1u);
  const json& facts = report["models"][0];
  EXPECT_EQ(keys_of(facts), kFacts);
  EXPECT_EQ(facts["name"], "llama");
  EXPECT_EQ(facts["architecture"], "llama");
  EXPECT_EQ(facts["layers"], 2);
  EXPECT_EQ(facts["heads"], 4);
  EXPECT_EQ(facts["kv_heads"], 2);
  EXPECT_EQ(facts["dtype"], "BF16");

  const json& parameters = report["parameters"];
  EXPECT_EQ(parameters["energy"], (json{0.6, 0.99}));
  EXPECT_EQ(parameters["matrix"], (json{"q", "qk"}));
  EXPECT_EQ(parameters["layers"], "1");
  EXPECT_EQ(parameters["per_head"], true);
  EXPECT_EQ(parameters["values"], false);

  ASSERT_EQ(report["rows"].size(), 10u);  // q and qk, each whole and for 4 heads
  for (const json& row : report["rows"]) {
    EXPECT_EQ(keys_of(row), sorted(kMeasures)) << row;
    EXPECT_EQ(row["model"], "llama");
    EXPECT_EQ(row["layer"], 1);
    EXPECT_EQ(keys_of(row["energy_rank"]), (Words{"0.6", "0.99"}));
    EXPECT_EQ(keys_of(row["random_energy_rank"]), (Words{"0.6", "0.99"}));
    for (const char* rank : {"0.6", "0.99"})
      EXPECT_TRUE(row["energy_rank"][rank].is_number_integer());
    EXPECT_TRUE(row["numerical_rank"].is_number_integer());
    EXPECT_TRUE(row["max_possible_rank"].is_number_integer());
    EXPECT_LE(row["energy_rank"]["0.6"], row["energy_rank"]["0.99"]);
    EXPECT_LE(row["energy_rank"]["0.99"], row["max_possible_rank"]);
  }
}

TEST(CliJson, HasTwoDefaultThresholds) {
  const json report = report_of({"spectrum", data_path("gpt2"), "--layers", "0", "--matrix", "q"});
  EXPECT_EQ(keys_of(report["rows"][0]["energy_rank"]), (Words{"0.9", "0.99"}));
}

TEST(CliJson, ThresholdKeysAreTheShortestDecimals) {
  const json report = report_of({"spectrum", data_path("gpt2"), "--layers", "0", "--matrix", "q",
                                 "--energy", "0.900,5e-1,0.12345678901234568,.75,0.5"});
  EXPECT_EQ(keys_of(report["rows"][0]["energy_rank"]),
            (Words{"0.12345678901234568", "0.5", "0.75", "0.9"}));
}

TEST(CliJson, RowsPerHeadFollowTheHeads) {
  // Grouped-query attention: 4 query heads share 2 key/value heads of 8.
  const json report = report_of(
      {"spectrum", data_path("llama"), "--per-head", "--matrix", "q,k,v,o,gate,up,down,qk,ov"});
  const struct {
    const char* matrix;
    int heads;
    json whole, head;  // shapes
    int whole_rank, head_rank;
  } cases[] = {
      {"q", 4, {32, 32}, {8, 32}, 32, 8},   {"k", 2, {16, 32}, {8, 32}, 16, 8},
      {"v", 2, {16, 32}, {8, 32}, 16, 8},   {"o", 4, {32, 32}, {32, 8}, 32, 8},
      {"gate", 0, {48, 32}, {}, 32, 0},     {"up", 0, {48, 32}, {}, 32, 0},
      {"down", 0, {32, 48}, {}, 32, 0},     {"qk", 4, {32, 32}, {32, 32}, 16, 8},
      {"ov", 4, {32, 32}, {32, 32}, 16, 8},
  };
  std::size_t expected_rows = 0;
  for (const auto& [matrix, heads, whole, head, whole_rank, head_rank] : cases) {
    for (const int layer : {0, 1}) {
      const json row = find_row(report["rows"], layer, matrix, nullptr);
      EXPECT_EQ(row["shape"], whole) << matrix;
      EXPECT_EQ(row["max_possible_rank"], whole_rank) << matrix;
      for (int index = 0; index < heads; ++index) {
        const json of_head = find_row(report["rows"], layer, matrix, index);
        EXPECT_EQ(of_head["shape"], head) << matrix;
        EXPECT_EQ(of_head["max_possible_rank"], head_rank) << matrix;
      }
      expected_rows += static_cast<std::size_t>(1 + heads);
    }
  }
  EXPECT_EQ(report["rows"].size(), expected_rows);
}

TEST(CliJson, SortsRowsByModelLayerMatrixAndHead) {
  const json report = report_of(
      {"spectrum", data_path("gpt2"), data_path("llama"), "--per-head", "--matrix", "v,q"});
  std::vector<std::tuple<int, int, int, int>> order;
  for (const json& row : report["rows"]) {
    order.emplace_back(row["model"] == "gpt2" ? 0 : 1, row["layer"].get<int>(),
                       row["matrix"] == "v" ? 0 : 1,
                       row["head"].is_null() ? -1 : row["head"].get<int>());
  }
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(order.size(), 2u * (5 + 5) + 2 * (3 + 5));
}

TEST(CliJson, ValuesAddTheSpectrumOfTheMeasures) {
  const json report = report_of({"spectrum", data_path("qwen3"), "--per-head", "--values",
                                 "--matrix", "q,k,o,down,qk", "--energy", "0.5,0.9,0.99"});
  for (const json& row : report["rows"]) {
    EXPECT_EQ(keys_of(row), sorted(kMeasures + Words{"singular_values", "cumulative_energy",
                                                     "random_singular_values"}));
    const auto null_values = row["random_singular_values"].get<std::vector<double>>();
    ASSERT_EQ(null_values.size(), row["max_possible_rank"].get<std::size_t>());
    EXPECT_NEAR(std::sqrt(std::inner_product(null_values.begin(), null_values.end(),
                                             null_values.begin(), 0.0)),
                row["frobenius_norm"], 1e-12 * row["frobenius_norm"].get<double>());
    const auto values = row["singular_values"].get<std::vector<double>>();
    const auto cumulative = row["cumulative_energy"].get<std::vector<double>>();
    ASSERT_EQ(values.size(), row["max_possible_rank"].get<std::size_t>());
    ASSERT_EQ(cumulative.size(), values.size());
    EXPECT_TRUE(std::is_sorted(values.rbegin(), values.rend()));
    EXPECT_TRUE(std::is_sorted(cumulative.begin(), cumulative.end()));

    double squares = 0, sum = 0;
    for (const double value : values) {
      squares += value * value;
      sum += value;
    }
    // Sums of up to 48 positive float64 terms.
    const double relative = 48 * 0x1p-52;
    EXPECT_EQ(row["spectral_norm"], values.front());
    EXPECT_NEAR(row["frobenius_norm"], std::sqrt(squares), relative * std::sqrt(squares));
    EXPECT_NEAR(row["nuclear_norm"], sum, relative * sum);
    EXPECT_NEAR(row["stable_rank"], squares / (values.front() * values.front()),
                relative * row["stable_rank"].get<double>());
    EXPECT_NEAR(cumulative.back(), 1, relative);
    for (const auto& [threshold, rank] : row["energy_rank"].items()) {
      const auto reached = static_cast<std::size_t>(rank.get<int>());
      EXPECT_GE(cumulative.at(reached - 1), std::stod(threshold) - 1e-12);
      const double one_less = reached > 1 ? cumulative.at(reached - 2) : 0;
      EXPECT_LT(one_less, std::stod(threshold));
    }
  }
}

TEST(CliJson, EveryDataModelHasARowPerProjectionAndLayer) {
  for (const std::string& name : data_names()) {
    SCOPED_TRACE(name);
    const json report = report_of({"spectrum", data_path(name), "--per-head"});
    const json& facts = report["models"][0];
    std::size_t rows = 0;
    for (int layer = 0; layer < facts["layers"]; ++layer) {
      for (const std::string matrix : {"q", "k", "v", "o", "up", "down"}) {
        const json row = find_row(report["rows"], layer, matrix, nullptr);
        EXPECT_GT(row["stable_rank"], 1);
        EXPECT_EQ(row["shape"][matrix == "o" || matrix == "down" ? 0 : 1], facts["hidden_size"]);
        rows += 1;
      }
      rows += 2 * facts["heads"].get<std::size_t>() + 2 * facts["kv_heads"].get<std::size_t>();
    }
    const bool gated = std::any_of(report["rows"].begin(), report["rows"].end(),
                                   [](const json& row) { return row["matrix"] == "gate"; });
    if (gated) rows += facts["layers"].get<std::size_t>();
    EXPECT_EQ(report["rows"].size(), rows);
  }
}

TEST(CliJson, AlbertHasARowPerLayerAlthoughLayersShareWeights) {
  const json report =
      report_of({"spectrum", data_path("albert"), "--matrix", "q,ov", "--per-head"});
  EXPECT_EQ(report["models"][0]["layers"], 4);
  EXPECT_EQ(report["rows"].size(), 4u * 2 * 5);
  const auto measures = [&](int layer, const char* matrix, const json& head) {
    json row = find_row(report["rows"], layer, matrix, head);
    row.erase("layer");
    return row;
  };
  for (const char* matrix : {"q", "ov"}) {
    for (const json& head : {json(nullptr), json(0), json(3)}) {
      // Two groups of two layers.
      EXPECT_EQ(measures(0, matrix, head), measures(1, matrix, head));
      EXPECT_EQ(measures(2, matrix, head), measures(3, matrix, head));
      EXPECT_NE(measures(1, matrix, head), measures(2, matrix, head));
    }
  }
}

TEST(CliJson, ATensorByNameNeedsNoArchitecture) {
  const TempFolder folder;
  const std::string file =
      folder
          .write("odd.safetensors", safetensors_bytes({random_tensor("some/matrix", {3, 5}, 1),
                                                       counting_tensor("cube", {2, 2, 2})}))
          .string();
  const json report = report_of({"spectrum", file, "--tensor", "some/matrix"});
  EXPECT_EQ(report["command"], "spectrum");
  EXPECT_EQ(report["parameters"]["tensor"], "some/matrix");
  EXPECT_EQ(report["models"][0]["name"], "odd.safetensors");
  ASSERT_EQ(report["rows"].size(), 1u);
  const json& row = report["rows"][0];
  EXPECT_EQ(keys_of(row), sorted(kMeasures));
  EXPECT_EQ(row["model"], "odd.safetensors");
  EXPECT_EQ(row["layer"], nullptr);
  EXPECT_EQ(row["head"], nullptr);
  EXPECT_EQ(row["matrix"], "some/matrix");
  EXPECT_EQ(row["shape"], (json{3, 5}));
  expect_refusal({"spectrum", file, "--tensor", "cube"}, 2, {"--tensor", "cube", "[2, 2, 2]"});

  // The same matrix by its role.
  const json by_name = report_of({"spectrum", data_path("bert"), "--tensor",
                                  "bert.encoder.layer.1.attention.self.query.weight", "--values"});
  const json by_role =
      report_of({"spectrum", data_path("bert"), "--layers", "1", "--matrix", "q", "--values"});
  EXPECT_EQ(by_name["rows"][0]["singular_values"], by_role["rows"][0]["singular_values"]);
}

TEST(CliJson, AZeroMatrixHasRankZero) {
  const TempFolder folder;
  TinyLlama model(1);
  model.attention(0, 'q') = zero_tensor(TinyLlama::attention_name(0, 'q'), "F32", 32, {16, 16});
  const std::string path = model.write(folder, "zero");
  const json row = report_of({"spectrum", path, "--matrix", "q", "--values"})["rows"][0];
  EXPECT_EQ(row["energy_rank"], (json{{"0.9", 0}, {"0.99", 0}}));
  EXPECT_EQ(row["stable_rank"], 0.0);
  EXPECT_EQ(row["numerical_rank"], 0);
  EXPECT_EQ(row["max_possible_rank"], 16);
  EXPECT_EQ(row["condition_number"], nullptr);
  EXPECT_EQ(row["singular_values"], json(std::vector<double>(16, 0.0)));
  EXPECT_EQ(row["cumulative_energy"], json::array());
}

class SameBytes : public testing::TestWithParam<const char*> {};

TEST_P(SameBytes, HoldsForAnyNumberOfThreads) {
  std::string all;
  for (const std::string& matrix : kAllMatrices) all += (all.empty() ? "" : ",") + matrix;
  const Words command = {"spectrum",
                         source_path("examples/shakespeare-llama"),
                         data_path("albert"),
                         "--layers",
                         "0,-1",
                         "--matrix",
                         all,
                         "--per-head",
                         "--values",
                         "--format",
                         GetParam()};
  const std::string first = output_of(command + Words{"--threads", "1"});
  EXPECT_GT(first.size(), 1000u);
  for (const char* threads : {"1", "2", "5"}) {
    EXPECT_TRUE(output_of(command + Words{"--threads", threads}) == first) << threads << " threads";
  }
  EXPECT_TRUE(output_of(command) == first) << "the default number of threads";
  for (const char* threads : {"1", "4"}) {
    const RunOptions options = {
        .environment = {{"OPENBLAS_NUM_THREADS", threads}, {"OMP_NUM_THREADS", threads}}};
    EXPECT_TRUE(output_of(command, options) == first) << threads << " threads of the BLAS";
  }
}

INSTANTIATE_TEST_SUITE_P(CliFormats, SameBytes, testing::Values("json", "csv", "table"),
                         [](const auto& format) { return std::string(format.param); });

TEST(CliJson, OutWritesTheSameAsStdout) {
  const TempFolder folder;
  const std::string file = (folder.path() / "rows").string();
  for (const char* format : {"json", "csv", "table"}) {
    const Words command = {"spectrum", data_path("phi3"), "--per-head", "--format", format};
    const std::string printed = output_of(command);
    EXPECT_EQ(output_of(command + Words{"--out", file}), "");
    EXPECT_EQ(read_file(file), printed);
  }
}

}  // namespace
}  // namespace attnscope::test
