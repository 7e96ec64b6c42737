// The `attention` command: token sources, reported values, and rejected arguments.
#include <cmath>
#include <csignal>

#include "tests/features/attention/attention_model.h"

namespace attnscope::test {
namespace {

class Attention : public testing::Test {
 protected:
  std::string shard(const std::string& name, const std::string& bytes) const {
    return folder_.write(name, bytes).string();
  }

  TempFolder folder_;
  const std::vector<std::uint16_t> tokens_ = random_tokens(40, 48);
  const std::string shard_ = shard("tokens.bin", shard_bytes(tokens_));
};

json row_of(const json& report, const json& layer, const json& head) {
  for (const json& row : report.at("rows")) {
    if (row.at("layer") == layer && row.at("head") == head) return row;
  }
  ADD_FAILURE() << "no row of layer " << layer << ", head " << head;
  return {};
}

TEST_F(Attention, AveragesOverTheWindowsOfAFile) {
  const std::string model = tiny_model("gpt2");
  const json all =
      report_of({"attention", model, "--token-file", shard_, "--sequences", "3", "--length", "12"});
  EXPECT_EQ(all["rows"].size(), 3u * (3 + 1));
  EXPECT_EQ(all["parameters"]["source"], "tokens.bin");
  EXPECT_EQ(all["parameters"]["sequences"], 3);
  EXPECT_EQ(all["parameters"]["length"], 12);
  EXPECT_EQ(all["parameters"]["seed"], nullptr);
  std::vector<json> each;
  for (std::size_t window = 0; window < 3; ++window) {
    const auto first = tokens_.begin() + static_cast<std::ptrdiff_t>(12 * window);
    each.push_back(report_of(
        {"attention", model, "--tokens", ids_text(std::vector<std::uint16_t>(first, first + 12))}));
  }
  for (const json& row : all["rows"]) {
    EXPECT_EQ(row["sequences"], 3);
    const bool whole = row["head"].is_null();
    const Words names = whole ? Words{"mean_max_rank", "mean_energy_columns"}
                              : Words{"energy_rank",   "energy_columns", "first_column_share",
                                      "entropy",       "sink_mass",      "previous_token",
                                      "current_token", "mean_distance",  "learned_sink_mass"};
    for (const std::string& name : names) {
      double sum = 0, squares = 0;
      for (const json& one : each) {
        const json alone = row_of(one, row["layer"], row["head"]);
        EXPECT_EQ(alone[name + "_error"], nullptr) << "of one sequence there is none";
        sum += alone[name].get<double>();
      }
      for (const json& one : each) {
        const double apart = row_of(one, row["layer"], row["head"])[name].get<double>() - sum / 3;
        squares += apart * apart;
      }
      // Batches are multiplied together in float32, so the last digits may differ.
      const double tolerance = 1e-5 * std::max(1.0, sum / 3);
      EXPECT_NEAR(row[name].get<double>(), sum / 3, tolerance) << name;
      EXPECT_NEAR(row[name + "_error"].get<double>(), std::sqrt(squares / 2 / 3), tolerance);
    }
    if (!whole) continue;
    double largest = 0;
    for (int head = 0; head < 3; ++head) {
      largest = std::max(largest, row_of(all, row["layer"], head)["energy_rank"].get<double>());
    }
    EXPECT_EQ(row["max_rank"], largest);
  }
}

TEST_F(Attention, AcceptsEveryTokenSource) {
  const std::string ids = ids_text(std::vector<int>{5, 6, 7});
  EXPECT_EQ(report_of({"attention", tiny_model("llama"), "--tokens", ids})["parameters"]["source"],
            "tokens");
  const json text = report_of({"attention", kShakespeare, "--text", "To be, or not to be"});
  EXPECT_EQ(text["parameters"]["source"], "text");
  EXPECT_EQ(text["parameters"]["sequences"], 1);
  std::string book;
  for (int line = 0; line < 40; ++line) book += "To be, or not to be: that is the question.\n";
  const std::string file = folder_.write("book.txt", book).string();
  const Words windows = {"attention",   kShakespeare, "--text-file", file,
                         "--sequences", "4",          "--length",    "20"};
  const json following = report_of(windows + Words{"--consecutive"});
  EXPECT_EQ(following["parameters"]["source"], "book.txt");
  EXPECT_EQ(following["parameters"]["seed"], nullptr);
  const json sampled = report_of(windows + Words{"--seed", "7"});
  EXPECT_EQ(sampled["parameters"]["seed"], 7);
  EXPECT_EQ(sampled["rows"].size(), following["rows"].size());
  EXPECT_NE(sampled["rows"], following["rows"]);
  EXPECT_EQ(sampled, report_of(windows + Words{"--seed", "7"}));
}

/// Consecutive windows are similar, so the standard errors of the first ones would be too small.
TEST_F(Attention, SamplesRandomWindowsIfThereAreMore) {
  const Words file = {"attention", tiny_model("gpt2"), "--token-file", shard_, "--length", "8"};
  const auto some = [&](const Words& more) { return report_of(file + more); };
  const json usual = some({"--sequences", "4"});  // of 5
  EXPECT_EQ(usual["parameters"]["seed"], 0);
  EXPECT_EQ(usual, some({"--sequences", "4", "--seed", "0"}));
  const json in_order = some({"--sequences", "4", "--consecutive"});
  EXPECT_EQ(in_order["parameters"]["seed"], nullptr);
  EXPECT_NE(in_order["rows"], usual["rows"]);
  EXPECT_NE(in_order["parameters"]["tokens_hash"], usual["parameters"]["tokens_hash"]);
  // If all windows are used, they come in order. So does a single one, which has no standard error.
  for (const Words& asked : {Words{}, Words{"--sequences", "5"}, Words{"--sequences", "1"}}) {
    const json report = some(asked);
    EXPECT_EQ(report["parameters"]["seed"], nullptr);
    EXPECT_EQ(report, some(asked + Words{"--consecutive"}));
  }
  EXPECT_EQ(some({})["parameters"]["sequences"], 5);
  expect_refusal(file + Words{"--consecutive", "--seed", "1"}, kUsage, {"--consecutive", "--seed"});
  expect_refusal({"attention", tiny_model("gpt2"), "--tokens", "1,2,3", "--consecutive"}, kUsage,
                 {"--tokens", "--consecutive"});
  expect_refusal({"attention", tiny_model("gpt2"), "--induction", "--consecutive"}, kUsage,
                 {"--induction", "--consecutive"});
}

TEST_F(Attention, ReadsTheChosenLayers) {
  const Words command = {"attention", tiny_model("gpt2"), "--tokens", "1,2,3,4,5,6"};
  const json all = report_of(command), some = report_of(command + Words{"--layers", "0,-1"});
  EXPECT_EQ(some["rows"].size(), 8u);
  EXPECT_EQ(row_of(some, 2, 1), row_of(all, 2, 1));
  EXPECT_EQ(row_of(some, 0, nullptr), row_of(all, 0, nullptr));
  expect_refusal(command + Words{"--layers", "3"}, kUsage, {"--layers", "0 to 2"});
}

TEST_F(Attention, ExcludesTheFirstTokenFromRanksAndEnergyColumns) {
  // The text is longer than the context length, which causes a note.
  const Words command = {"attention", tiny_model("llama"), "--tokens", ids_text(tokens_),
                         "--quiet"};
  const json with = report_of(command),
             without = report_of(command + Words{"--exclude-first-token"});
  EXPECT_EQ(with["parameters"]["exclude_first_token"], false);
  EXPECT_EQ(without["parameters"]["exclude_first_token"], true);
  for (const json& row : without["rows"]) {
    const json whole = row_of(with, row["layer"], row["head"]);
    if (row["head"].is_null()) continue;
    EXPECT_LE(row["energy_rank"], whole["energy_rank"].get<double>() + 1);
    for (const json& column : row["top_columns"]) EXPECT_NE(column, 0);
    for (const char* name : {"entropy", "sink_mass", "previous_token", "current_token"}) {
      EXPECT_EQ(row[name], whole[name]) << name;
    }
  }
}

std::string tokens(std::int64_t count) {
  return ids_text(random_tokens(static_cast<std::size_t>(count), 48));
}

TEST_F(Attention, JudgesCollapseAtTheDefaultEnergyOnly) {
  const Words command = {"attention", tiny_model("llama"), "--tokens", tokens(16)};
  EXPECT_TRUE(row_of(report_of(command), 0, nullptr)["collapsed"].is_boolean());
  EXPECT_EQ(row_of(report_of(command + Words{"--energy", "0.5"}), 0, nullptr)["collapsed"],
            nullptr);
}

TEST_F(Attention, DoesNotJudgeCollapseOnFewKeys) {
  const auto collapsed = [](std::int64_t count, const Words& options) {
    const Words command =
        Words{"attention", tiny_model("llama"), "--tokens", tokens(count), "--quiet"};
    const std::string table = output_of(command + options);
    EXPECT_EQ(table.find("collapsed") != std::string::npos, count > 15) << table;
    return row_of(report_of(command + options), 0, nullptr)["collapsed"];
  };
  EXPECT_EQ(collapsed(1, {}), nullptr);
  EXPECT_EQ(collapsed(2, {}), nullptr);
  EXPECT_EQ(collapsed(15, {}), nullptr);
  EXPECT_EQ(collapsed(16, {}), false);
  EXPECT_EQ(collapsed(17, {"--exclude-first-token"}), false);
  const Words without = {"attention", tiny_model("llama"), "--tokens", tokens(16),
                         "--exclude-first-token"};
  EXPECT_EQ(row_of(report_of(without), 0, nullptr)["collapsed"], nullptr);
}

TEST_F(Attention, UniformBaselineDependsOnTheMask) {
  const auto nulls = [](const char* model, const char* name) {
    return report_of({"attention", tiny_model(model), "--induction", "--length", "16"})["rows"][0]
        .at(name)
        .get<double>();
  };
  double even = 0;
  for (int query = 8; query < 16; ++query) even += 1.0 / (query + 1) / 8;
  EXPECT_DOUBLE_EQ(nulls("llama", "uniform_induction"), even);
  EXPECT_DOUBLE_EQ(nulls("bert", "uniform_induction"), 1.0 / 16);
  EXPECT_DOUBLE_EQ(nulls("bert", "uniform_duplicate_token"), 1.0 / 16);
}

TEST_F(Attention, OneTokenHasNoPreviousToken) {
  const json report = report_of({"attention", tiny_model("bert"), "--tokens", "3"});
  const json row = row_of(report, 0, 0);
  EXPECT_EQ(row["previous_token"], nullptr);
  EXPECT_EQ(row["energy_rank"], 1.0);
  EXPECT_EQ(row["top_columns"], json::array({0}));
  output_of({"attention", tiny_model("bert"), "--tokens", "3"});
}

TEST_F(Attention, ThreadsAndMemoryDoNotChangeTheOutput) {
  const Words windows = {"--token-file", shard_, "--sequences", "5", "--length", "8"};
  for (const Words& asked : {windows, Words{"--induction", "--length", "8"},
                             Words{"--heatmap", "1,0", "--tokens", "1,2,3"}}) {
    for (const std::string format : {"json", "csv", "table"}) {
      const Words command = Words{"attention", tiny_model("gpt2"), tiny_model("llama")} + asked +
                            Words{"--format", format};
      const std::string one = output_of(command + Words{"--threads", "1"});
      EXPECT_FALSE(one.empty());
      EXPECT_EQ(output_of(command + Words{"--threads", "2"}), one);
      EXPECT_EQ(output_of(command + Words{"--threads", "3", "--memory", "1K", "--quiet"}), one);
    }
  }
}

TEST_F(Attention, MeasuresInductionOnRepeatedRandomTokens) {
  const Words command = {"attention", tiny_model("llama"), "--induction", "--length", "16"};
  const json report = report_of(command);
  EXPECT_EQ(report["parameters"]["induction"], true);
  EXPECT_EQ(report["parameters"]["source"], "random");
  EXPECT_EQ(report["parameters"]["sequences"], 8);
  EXPECT_EQ(report["rows"].size(), 2u * 4);
  for (const json& row : report["rows"]) {
    for (const char* name : {"induction", "duplicate_token"}) {
      EXPECT_GE(row[name], 0.0);
      EXPECT_LE(row[name], 1.0);
      EXPECT_GT(row[name + std::string("_error")], 0.0);
    }
  }
  EXPECT_NE(report_of(command + Words{"--seed", "1"})["rows"], report["rows"]);
  expect_refusal({"attention", tiny_model("llama"), "--induction", "--length", "7"}, kUsage,
                 {"--length", "even"});
  expect_refusal(command + Words{"--text", "a"}, kUsage, {"--induction", "--text"});
}

TEST_F(Attention, CsvHasAColumnPerField) {
  const CsvTable table =
      csv_of({"attention", tiny_model("gpt2"), "--tokens", "1,2,3", "--layers", "1"});
  for (const char* column : {"model", "layer", "head", "energy_rank", "energy_rank_error",
                             "top_columns_0", "max_rank", "mean_max_rank", "collapsed"}) {
    EXPECT_TRUE(table.has(column)) << column;
  }
  EXPECT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(table.cell(3, "head"), "");
}

TEST_F(Attention, RejectsMalformedShards) {
  const auto refuse = [&](const std::string& bytes, const Words& said) {
    expect_refusal({"attention", tiny_model("gpt2"), "--token-file", shard("bad.bin", bytes),
                    "--sequences", "1", "--length", "4"},
                   kBadFile, Words{"bad.bin"} + said);
  };
  refuse(shard_bytes(tokens_, std::nullopt, 20240521), {"magic", "20240521"});
  refuse(shard_bytes(tokens_, std::nullopt, kShardMagic, 2), {"version", "2"});
  refuse(shard_bytes(tokens_, 41), {"41"});
  refuse(shard_bytes(tokens_, 39), {"39"});
  refuse(shard_bytes(tokens_, -1), {});
  refuse(shard_bytes(tokens_).substr(0, 1000), {});
  refuse("", {});
  refuse(shard_bytes({1, 2, 3, 48}), {"48", "47"});
}

TEST_F(Attention, TooShortATextReportsTheNumberOfWindows) {
  const Words command = {"attention", tiny_model("gpt2"), "--token-file", shard_, "--length", "12"};
  expect_refusal(
      command + Words{"--sequences", "4"}, kUsage,
      {"tokens.bin", "enough for 3 sequences of 12, not for the 4 required by --sequences"});
  EXPECT_EQ(report_of(command)["parameters"]["sequences"], 3);
  expect_refusal({"attention", kShakespeare, "--text-file",
                  folder_.write("short.txt", "To be, or not to be").string()},
                 kUsage, {"short.txt", "fewer than the 100 required for one sequence"});
}

TEST_F(Attention, RejectsInvalidTexts) {
  const std::string model = tiny_model("gpt2");
  expect_refusal({"attention", model}, kUsage, {"--text", "--token-file"});
  expect_refusal({"attention", model, "--tokens", "1", "--token-file", shard_}, kUsage,
                 {"--token-file", "--tokens"});
  expect_refusal({"attention", model, "--tokens", "1,x"}, kUsage, {"--tokens", "'x'"});
  expect_refusal({"attention", model, "--tokens", "1,48"}, kUsage, {"48", "0 to 47"});
  expect_refusal({"attention", model, "--tokens", ids_text(tokens_)}, kUsage, {"40", "16"});
  expect_refusal({"attention", model, "--text", "a"}, kUsage, {"tokenizer.json", "--tokens"});
  expect_refusal({"attention", kShakespeare, "--text", ""}, kUsage, {"--text"});
  expect_refusal({"attention", model, "--tokens", "1", "--energy", "0.5,0.9"}, kUsage,
                 {"--energy", "a single energy threshold"});
  expect_refusal({"attention", model, "--tokens", "1", "--sequences", "2"}, kUsage,
                 {"--tokens", "--sequences"});
}

TEST_F(Attention, AStopEndsTheRunWithinASecond) {
  RunningCommand run(long_attention_run(folder_, 600));
  ASSERT_TRUE(run.wait_until([&] { return run.handles(SIGINT); }));
  const auto start = std::chrono::steady_clock::now();
  run.wait_until(
      [&] { return std::chrono::steady_clock::now() - start >= std::chrono::seconds(1); });
  run.send(SIGINT);
  const RunResult result = run.wait();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_LT(result.seconds, 1.0);
  EXPECT_EQ(result.out, "");
}

}  // namespace
}  // namespace attnscope::test
