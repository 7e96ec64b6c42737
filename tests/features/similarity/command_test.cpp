// The `similarity` command: rows, options, edge cases.
#include <limits>

#include "tests/support/program.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

/// A TinyLlama with some rows of a matrix of layer 0 set to zero.
std::string with_zero_rows(const TempFolder& folder, const std::string& name, char matrix,
                           const std::vector<std::int64_t>& rows) {
  TinyLlama model;
  for (const std::int64_t row : rows) {
    for (std::int64_t col = 0; col < 16; ++col) {
      set_element(model.attention(0, matrix), row, col, 0);
    }
  }
  return model.write(folder, name);
}

TEST(CliSimilarity, RowsHaveTheDocumentedFields) {
  const TempFolder folder;
  const json report = report_of({"similarity", TinyLlama().write(folder, "m")});
  EXPECT_EQ(report["command"], "similarity");
  ASSERT_EQ(report["rows"].size(), 2u * 3 * 3);
  const char* scopes[] = {"within_head", "across_head", "all"};
  for (std::size_t index = 0; index < report["rows"].size(); ++index) {
    const json& row = report["rows"][index];
    EXPECT_EQ(keys_of(row), sorted({"model", "layer", "matrix", "scope", "pairs", "zero_vectors",
                                    "mean", "std"}));
    EXPECT_EQ(row["scope"], scopes[index % 3]);
    // q: 4 heads of 4 rows; k and v: 2 heads of 4 rows.
    const bool query = row["matrix"] == "q";
    const int pairs[] = {query ? 24 : 12, query ? 96 : 16, query ? 120 : 28};
    EXPECT_EQ(row["pairs"], pairs[index % 3]);
  }
}

TEST(CliSimilarity, HistogramsContainEveryPair) {
  const TempFolder folder;
  const std::string model = TinyLlama().write(folder, "m");
  for (const Words& bins :
       {Words{}, Words{"--bins", "fd"}, Words{"--bins", "7", "--range", "-1,1"}}) {
    const json report = report_of(Words{"similarity", model, "--histogram"} + bins);
    for (const json& row : report["rows"]) {
      std::int64_t counted = row["histogram"]["outside"];
      for (const json& count : row["histogram"]["counts"]) counted += count.get<std::int64_t>();
      EXPECT_EQ(counted, row["pairs"]);
      if (!bins.empty()) continue;
      EXPECT_EQ(row["histogram"]["edges"].size(), 101u);
      EXPECT_EQ(row["histogram"]["edges"].front(), -0.4);
    }
  }
}

TEST(CliSimilarity, SkipsAndCountsZeroVectors) {
  const TempFolder folder;
  const std::string model = with_zero_rows(folder, "m", 'k', {0, 1, 2, 6});
  const json rows = report_of({"similarity", model, "--layers", "0", "--matrix", "k"})["rows"];
  const int pairs[] = {3, 3, 6};  // one row remains in the first head, three in the second
  for (std::size_t scope = 0; scope < 3; ++scope) {
    EXPECT_EQ(rows[scope]["zero_vectors"], 4);
    EXPECT_EQ(rows[scope]["pairs"], pairs[scope]);
  }
  const std::string zero = with_zero_rows(folder, "zero", 'k', {0, 1, 2, 3, 4, 5, 6, 7});
  const json nothing = report_of({"similarity", zero, "--layers", "0", "--matrix", "k",
                                  "--histogram", "--bins", "fd"})["rows"];
  for (const json& row : nothing) {
    EXPECT_EQ(row["pairs"], 0);
    EXPECT_TRUE(row["mean"].is_null() && row["std"].is_null());
    EXPECT_TRUE(row["histogram"]["density"].is_null());
  }
  output_of({"similarity", zero});
  const json overlap = report_of({"similarity", zero, "--overlap", "--matrix", "k"})["rows"][0];
  EXPECT_EQ(overlap["ranks"], json({0, 0}));
  EXPECT_TRUE(overlap["overlap"][0][0].is_null());
  output_of({"similarity", zero, "--overlap", "--layers", "0"});
}

TEST(CliSimilarity, OneHeadHasNoPairsBetweenHeads) {
  const TempFolder folder;
  TinyLlama model(1);
  model.config["num_attention_heads"] = 1;
  model.config["num_key_value_heads"] = 1;
  model.config["head_dim"] = 1;
  for (const char matrix : {'q', 'k', 'v'}) {
    model.attention(0, matrix) = random_tensor(TinyLlama::attention_name(0, matrix), {1, 16}, 3);
  }
  model.attention(0, 'o') = random_tensor(TinyLlama::attention_name(0, 'o'), {16, 1}, 3);
  const std::string path = model.write(folder, "m");
  const json report = report_of({"similarity", path, "--histogram", "--bins", "fd"});
  for (const json& row : report["rows"]) {
    EXPECT_EQ(row["pairs"], 0);
    EXPECT_TRUE(row["mean"].is_null());
  }
  EXPECT_EQ(report_of({"similarity", path, "--overlap"})["rows"][0]["overlap"], json({{1.0}}));
  EXPECT_EQ(report_of({"similarity", path, "--head-matrix", "0,0"})["rows"][0]["values"],
            json({1.0}));
  output_of({"similarity", path});
  output_of({"similarity", path, "--overlap"});
  output_of({"weights", path, "--per-head"});
}

TEST(CliSimilarity, DuplicateHeadsOverlapFully) {
  const TempFolder folder;
  TinyLlama model;
  TensorToWrite& query = model.attention(0, 'q');
  const std::size_t head_bytes = 4 * 16 * sizeof(float);
  query.bytes.replace(3 * head_bytes, head_bytes, query.bytes.substr(head_bytes, head_bytes));
  const std::string path = model.write(folder, "m");
  const json row = report_of({"similarity", path, "--overlap", "--layers", "0"})["rows"][0];
  EXPECT_EQ(keys_of(row), sorted({"model", "layer", "matrix", "overlap", "ranks"}));
  EXPECT_NEAR(row["overlap"][1][3].get<double>(), 1, 1e-12);
  EXPECT_LT(row["overlap"][0][3].get<double>(), 0.9);
  const std::string table = output_of({"similarity", path, "--overlap", "--layers", "0"});
  EXPECT_TRUE(contains(table, "(1, 3)")) << table;
}

TEST(CliSimilarity, TheMatrixOfOneHeadHasARowPerVector) {
  const json report =
      report_of({"similarity", data_path("gpt2"), "--matrix", "v", "--head-matrix", "-1,2"});
  const std::size_t size = report["rows"].size();
  ASSERT_GT(size, 1u);
  for (std::size_t row = 0; row < size; ++row) {
    const json& got = report["rows"][row];
    EXPECT_EQ(keys_of(got), sorted({"model", "layer", "matrix", "head", "row", "values"}));
    EXPECT_EQ(got["layer"], 1);
    EXPECT_EQ(got["head"], 2);
    EXPECT_EQ(got["row"], row);
    ASSERT_EQ(got["values"].size(), size);
    EXPECT_EQ(got["values"][row], 1);
    for (std::size_t col = 0; col < size; ++col) {
      EXPECT_EQ(got["values"][col], report["rows"][col]["values"][row]);
    }
  }
  const CsvTable csv =
      csv_of({"similarity", data_path("gpt2"), "--matrix", "v", "--head-matrix", "-1,2"});
  EXPECT_EQ(csv.rows.size(), size);
  EXPECT_TRUE(csv.has("values_" + std::to_string(size - 1)));
}

TEST(CliSimilarity, NotesAHeadThatKeysDoNotHave) {
  const TempFolder folder;
  const std::string model = TinyLlama().write(folder, "m");
  const RunResult run = run_attnscope({"similarity", model, "--head-matrix", "0,3"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "2 key/value heads")) << run.err;
  EXPECT_FALSE(contains(run.out, "k of layer")) << run.out;
}

TEST(CliSimilarity, RejectsInvalidOptions) {
  const TempFolder folder;
  const std::string model = TinyLlama().write(folder, "m");
  expect_refusal({"similarity", model, "--matrix", "o"}, 2, {"--matrix", "'o'"});
  expect_refusal({"similarity", model, "--head-matrix", "0"}, 2, {"--head-matrix", "'0'"});
  expect_refusal({"similarity", model, "--head-matrix", "0,4"}, 2, {"--head-matrix", "0 to 3"});
  expect_refusal({"similarity", model, "--head-matrix", "0,2", "--matrix", "k"}, 2,
                 {"--head-matrix", "0 to 1"});
  expect_refusal({"similarity", model, "--head-matrix", "2,0"}, 2,
                 {"--head-matrix", "layers 0 to 1"});
  expect_refusal({"similarity", model, "--head-matrix", "0,-1"}, 2, {"--head-matrix"});
  expect_refusal({"similarity", model, "--head-matrix", "0,0", "--overlap"}, 2, {"--overlap"});
  expect_refusal({"similarity", model, "--overlap", "--histogram"}, 2, {"--overlap"});
  expect_refusal({"similarity", model, "--bins", "x"}, 2, {"--bins"});
}

TEST(CliSimilarity, SkipsMatricesWithNanOrInf) {
  const TempFolder folder;
  TinyLlama model;
  set_element(model.attention(0, 'q'), 5, 3, std::numeric_limits<float>::quiet_NaN());
  const std::string path = model.write(folder, "m");
  for (const Words& mode : {Words{}, Words{"--overlap"}, Words{"--histogram", "--bins", "fd"}}) {
    const json report = report_of(Words{"similarity", path} + mode);
    ASSERT_EQ(report["skipped"].size(), 1u);
    EXPECT_EQ(report["skipped"][0]["matrix"], "q");
    EXPECT_TRUE(contains(report["skipped"][0]["reason"].get<std::string>(), "NaN or Inf"));
    output_of(Words{"similarity", path} + mode);
  }
  // The other heads of the matrix can be analyzed.
  EXPECT_EQ(report_of({"similarity", path, "--head-matrix", "0,0"})["skipped"].size(), 0u);
  EXPECT_EQ(report_of({"similarity", path, "--head-matrix", "0,1"})["skipped"].size(), 1u);
}

TEST(CliSimilarity, ThreadsDoNotChangeTheOutput) {
  for (const Words& mode :
       {Words{"--histogram", "--bins", "fd"}, Words{"--overlap"}, Words{"--head-matrix", "0,1"}}) {
    const Words command =
        Words{"similarity", data_path("gpt2"), data_path("bert"), "--format", "json"} + mode;
    EXPECT_EQ(output_of(command + Words{"--threads", "1"}),
              output_of(command + Words{"--threads", "5"}));
  }
}

TEST(CliSimilarity, TheTableHasAColumnPerScope) {
  const std::string table = output_of({"similarity", data_path("llama"), "--matrix", "k"});
  const Words lines = lines_of(table);
  EXPECT_EQ(words_of(lines[2]), (Words{"layer", "k", "within", "k", "across", "k", "all"}))
      << table;
  EXPECT_EQ(words_of(lines[3]).front(), "0");
  EXPECT_TRUE(contains(lines[3], "±"));
  const std::string corners = output_of({"similarity", data_path("llama"), "--head-matrix", "0,0"});
  EXPECT_TRUE(contains(corners, "1.0000")) << corners;
}

}  // namespace
}  // namespace attnscope::test
