// The `weights` command: rows, options, dtypes, skipped matrices.
#include <cstring>
#include <limits>
#include <map>
#include <random>

#include "tests/support/program.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

const Words kFields = sorted({"model", "layer", "matrix", "head", "count", "mean", "std", "min",
                              "max", "skewness", "excess_kurtosis", "quantiles"});

/// A TinyLlama whose matrix q of layer 0 has these values in row order.
std::string with_query(const TempFolder& folder, const std::string& name,
                       const std::function<float(std::int64_t, std::int64_t)>& value) {
  TinyLlama model;
  for (std::int64_t row = 0; row < 16; ++row) {
    for (std::int64_t col = 0; col < 16; ++col) {
      set_element(model.attention(0, 'q'), row, col, value(row, col));
    }
  }
  return model.write(folder, name);
}

const Words kQuery = {"--layers", "0", "--matrix", "q"};

TEST(CliWeights, RowsHaveTheDocumentedFields) {
  const TempFolder folder;
  const std::string model = TinyLlama().write(folder, "m");
  const json plain = report_of({"weights", model});
  EXPECT_EQ(plain["command"], "weights");
  EXPECT_EQ(plain["rows"].size(), 14u);  // q k v o gate up down in two layers
  for (const json& row : plain["rows"]) {
    EXPECT_EQ(keys_of(row), kFields);
    EXPECT_TRUE(row["head"].is_null());
    EXPECT_EQ(row["quantiles"].size(), 7u);
  }
  const json full = report_of({"weights", model, "--per-head", "--histogram"});
  EXPECT_EQ(full["rows"].size(), 2u * (7 + 4 + 2 + 2 + 4));
  for (const json& row : full["rows"]) {
    EXPECT_EQ(keys_of(row), sorted(kFields + Words{"histogram"}));
    EXPECT_EQ(keys_of(row["histogram"]), sorted({"edges", "counts", "density", "outside"}));
    EXPECT_EQ(row["histogram"]["edges"].size(), 81u);
    EXPECT_EQ(row["histogram"]["edges"].front(), -0.8);
    EXPECT_EQ(row["histogram"]["edges"].back(), 0.8);
    double area = 0;
    for (const json& density : row["histogram"]["density"]) area += density.get<double>() * 0.02;
    EXPECT_NEAR(area, 1, 1e-12);
  }
}

TEST(CliWeights, SupportsBinsAndRange) {
  const TempFolder folder;
  const std::string model = with_query(folder, "m", [](std::int64_t row, std::int64_t col) {
    return static_cast<float>(row * 16 + col);
  });
  const auto histogram = [&](const Words& more) {
    return report_of(Words{"weights", model, "--histogram"} + kQuery +
                     more)["rows"][0]["histogram"];
  };
  const json ten = histogram({"--bins", "4", "--range", "0,128"});
  EXPECT_EQ(ten["edges"], json({0.0, 32.0, 64.0, 96.0, 128.0}));
  EXPECT_EQ(ten["counts"], json({32, 32, 32, 33}));
  EXPECT_EQ(ten["outside"], 127);
  EXPECT_EQ(histogram({"--range", "-1000,1000"})["counts"].size(), 80u);
  // IQR 127.5, 256 values: bin width 255 / 256^(1/3) = 40.2, so 255 / 40.2 = 6.35 bins.
  EXPECT_EQ(histogram({"--bins", "fd"})["counts"].size(), 7u);
  // 0 … 100: IQR 50, bin width 100 / 101^(1/3) = 21.5.
  const json trimmed = histogram({"--bins", "fd", "--range", "0,100"});
  EXPECT_EQ(trimmed["counts"].size(), 5u);
  EXPECT_EQ(trimmed["outside"], 155);
}

TEST(CliWeights, NotesBinsWithoutAHistogram) {
  const TempFolder folder;
  const RunResult run = run_attnscope(
      {"weights", TinyLlama().write(folder, "m"), "--bins", "fd", "--format", "json"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "note: --bins and --range have no effect without --histogram"));
  EXPECT_FALSE(contains(run.out, "\"edges\""));
}

TEST(CliWeights, RejectsInvalidOptions) {
  const std::string model = data_path("llama");
  expect_refusal({"weights", model, "--bins", "many"}, 2, {"--bins", "many"});
  expect_refusal({"weights", model, "--bins", "0"}, 2, {"--bins", "0"});
  expect_refusal({"weights", model, "--bins", "65537"}, 2, {"--bins", "65536"});
  expect_refusal({"weights", model, "--bins", "-3"}, 2, {"--bins", "-3"});
  for (const char* range :
       {"1", "1,1", "2,1", "a,b", "0,inf", "nan,1", "0,1,2", "-1e308,1.7e308"}) {
    expect_refusal({"weights", model, "--histogram", "--range", range}, 2, {"--range", range});
  }
  expect_refusal({"weights", model, "--matrix", "qk"}, 2, {"--matrix", "qk"});
  expect_refusal({"weights", data_path("gpt2"), "--matrix", "gate"}, 2, {"--matrix", "gate"});
}

TEST(CliWeights, EqualWeightsHaveNoSkewnessOrKurtosis) {
  const TempFolder folder;
  const std::string model =
      with_query(folder, "m", [](std::int64_t, std::int64_t) { return 0.1f; });
  const json row =
      report_of(Words{"weights", model, "--histogram", "--bins", "fd"} + kQuery)["rows"][0];
  EXPECT_EQ(row["mean"], static_cast<double>(0.1f));
  EXPECT_EQ(row["std"], 0);
  EXPECT_TRUE(row["skewness"].is_null() && row["excess_kurtosis"].is_null());
  EXPECT_EQ(row["quantiles"]["0.99"], static_cast<double>(0.1f));
  EXPECT_EQ(row["histogram"]["counts"], json({256}));

  const json zero =
      report_of(Words{"weights",
                      with_query(folder, "zero", [](std::int64_t, std::int64_t) { return 0.0f; })} +
                kQuery)["rows"][0];
  EXPECT_EQ(zero["std"], 0);
  EXPECT_EQ(zero["max"], 0);
}

TEST(CliWeights, CapsManyBinsWithANote) {
  const TempFolder folder;
  const std::string model = with_query(folder, "m", [](std::int64_t row, std::int64_t col) {
    return row == 0 && col == 0 ? 1e6f : static_cast<float>(row * 16 + col) * 1e-3f;
  });
  const RunResult run = run_attnscope(
      Words{"weights", model, "--histogram", "--bins", "fd", "--format", "json"} + kQuery);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.err, "more than 65536 bins")) << run.err;
  EXPECT_EQ(json::parse(run.out)["rows"][0]["histogram"]["counts"].size(), 65536u);
}

TEST(CliWeights, SkipsNanOrInfTogetherWithItsHead) {
  const TempFolder folder;
  TinyLlama model;
  set_element(model.attention(0, 'q'), 5, 3, std::numeric_limits<float>::quiet_NaN());
  set_element(model.attention(1, 'o'), 2, 9, std::numeric_limits<float>::infinity());
  const std::string path = model.write(folder, "m");
  const json report = report_of({"weights", path, "--per-head", "--histogram"});
  ASSERT_EQ(report["skipped"].size(), 4u);
  EXPECT_EQ(report["skipped"][0]["reason"], "holds NaN or Inf (first at row 5, column 3)");
  EXPECT_EQ(report["skipped"][1]["head"], 1);
  EXPECT_EQ(report["skipped"][1]["reason"], "holds NaN or Inf (first at row 1, column 3)");
  EXPECT_EQ(report["skipped"][3]["matrix"], "o");
  EXPECT_EQ(report["skipped"][3]["head"], 2);
  EXPECT_EQ(report["rows"].size(), 2u * 19 - 4);

  const CsvTable csv = csv_of({"weights", path, "--matrix", "q"});
  ASSERT_EQ(csv.columns.back(), "skipped");
  EXPECT_EQ(csv.cell(1, "mean"), "");
  EXPECT_TRUE(contains(csv.cell(1, "skipped"), "NaN or Inf"));
  const std::string table = output_of({"weights", path, "--matrix", "q"});
  EXPECT_TRUE(contains(table, "skipped: m: q of layer 0")) << table;
}

TEST(CliWeights, TheSameNumbersInAnyDtypeHaveTheSameRows) {
  const TempFolder folder;
  std::map<std::string, json> rows;
  for (const std::string dtype : {"F64", "F32", "BF16", "F16"}) {
    TinyLlama model;
    for (TensorToWrite& tensor : model.tensors) {
      std::mt19937_64 random(tensor.bytes.size());
      std::string bytes;
      for (std::size_t at = 0; at < tensor.bytes.size() / 4; ++at) {
        // Few bits, so that every dtype represents the value exactly.
        const float value = static_cast<float>(static_cast<int>(random() % 33) - 16) / 16;
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        char raw[8];
        std::size_t size = 0;
        if (dtype == "F64") {
          const double wide = value;
          std::memcpy(raw, &wide, size = 8);
        } else if (dtype == "F32") {
          std::memcpy(raw, &value, size = 4);
        } else {
          const std::uint32_t exponent = bits >> 23 & 0xFF;
          const std::uint32_t half =
              value == 0 ? 0 : (bits >> 31) << 15 | (exponent - 112) << 10 | (bits >> 13 & 0x3FF);
          const auto pattern = static_cast<std::uint16_t>(dtype == "BF16" ? bits >> 16 : half);
          std::memcpy(raw, &pattern, size = 2);
        }
        bytes.append(raw, size);
      }
      tensor.dtype = dtype;
      tensor.bytes = bytes;
    }
    const Words command = {"weights", model.write(folder, dtype), "--per-head", "--histogram"};
    json all = report_of(command + Words{"--bins", "fd"})["rows"];
    for (json& row : all) row.erase("model");
    rows[dtype] = all;
  }
  for (const std::string other : {"F64", "BF16", "F16"}) {
    ASSERT_EQ(rows[other].size(), rows["F32"].size());
    for (std::size_t index = 0; index < rows[other].size(); ++index) {
      json got = rows[other][index], expected = rows["F32"][index];
      for (const char* moment : {"mean", "std", "skewness", "excess_kurtosis"}) {
        EXPECT_NEAR(got[moment].get<double>(), expected[moment].get<double>(), 1e-13);
        got.erase(moment);
        expected.erase(moment);
      }
      EXPECT_EQ(got, expected) << other;
    }
  }
}

TEST(CliWeights, ThreadsDoNotChangeTheOutput) {
  for (const char* format : {"json", "csv", "table"}) {
    const Words command = {"weights",    data_path("llama"), data_path("gpt2"),
                           "--per-head", "--histogram",      "--bins",
                           "fd",         "--format",         format};
    EXPECT_EQ(output_of(command + Words{"--threads", "1"}),
              output_of(command + Words{"--threads", "7"}));
  }
}

TEST(CliWeights, TheTableHasALinePerLayer) {
  const std::string table = output_of({"weights", data_path("llama"), "--matrix", "q,o"});
  const Words lines = lines_of(table);
  ASSERT_GE(lines.size(), 6u) << table;
  EXPECT_TRUE(lines[0].starts_with("llama  llama, 2 layers")) << table;
  EXPECT_EQ(words_of(lines[2]), (Words{"layer", "q", "o"}));
  EXPECT_EQ(words_of(lines[3]).front(), "0");
  EXPECT_EQ(words_of(lines[4]).front(), "1");
  EXPECT_TRUE(contains(lines[3], "±")) << table;
  EXPECT_TRUE(legend_of(table).starts_with("Mean ± standard deviation")) << table;

  const std::string both =
      output_of({"weights", data_path("llama"), data_path("gpt2"), "--matrix", "q"});
  EXPECT_TRUE(contains(both, "\n       ")) << both;
  EXPECT_EQ(words_of(lines_of(both)[4]), (Words{"llama", "gpt2"})) << both;
}

}  // namespace
}  // namespace attnscope::test
