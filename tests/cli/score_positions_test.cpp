// `--score-positions` and `--lines`: losses and means over chosen tokens alone, against float64
// sums over the logits and maps that `predict --save` writes.
#include <cmath>
#include <numeric>

#include "tests/cli/attention_model.h"
#include "tests/cli/refusals.h"
#include "tests/cli/stored_tensor.h"

namespace attnscope::test {
namespace {

using List = std::vector<int>;

const List kScoredIds = {5, 11, 7, 30, 2, 19, 44, 8, 23, 16, 3, 41};
const std::string kScoredLlama = tiny_model("llama");

/// Losses are float64 softmaxes of float32 logits that two runs give in other batches.
constexpr double kLossTolerance = 1e-5;
/// Sums of up to 12 float32 weights.
constexpr double kMapTolerance = 1e-6;

class ScoredText : public testing::Test {
 protected:
  ScoredText() {
    saved_ = (folder_.path() / "run.safetensors").string();
    report_of({"predict", kScoredLlama, "--tokens", ids_text(kScoredIds), "--save", saved_});
  }

  /// Mean of −log of the probability of the tokens at these positions.
  double loss_at(const List& positions) const {
    const StoredTensor logits = stored_tensor(saved_, "logits");
    double sum = 0;
    for (const int position : positions) {
      double total = 0;
      for (std::int64_t token = 0; token < logits.shape[1]; ++token) {
        total += std::exp(logits.at(position - 1, token));
      }
      sum += std::log(total) - logits.at(position - 1, kScoredIds[position]);
    }
    return sum / static_cast<double>(positions.size());
  }

  Words scored(const std::string& command, const std::string& positions) const {
    return {command,  kScoredLlama, "--tokens", ids_text(kScoredIds), "--score-positions",
            positions};
  }

  void expect_losses(const std::string& positions, const List& wanted) const {
    SCOPED_TRACE(positions);
    const auto count = std::ssize(wanted);
    const double loss = loss_at(wanted);
    const json lens = report_of(scored("lens", positions))["rows"].back();
    EXPECT_NEAR(lens["loss"].get<double>(), loss, kLossTolerance);
    EXPECT_EQ(lens["predicted"], count);
    EXPECT_EQ(lens["places"], count);
    const json ablate = report_of(scored("ablate", positions) + Words{"--parts", "mlp"})["rows"][0];
    EXPECT_NEAR(ablate["loss"].get<double>(), loss, kLossTolerance);
    EXPECT_EQ(ablate["predicted"], count);
    const json predict = report_of(scored("predict", positions) + Words{"--perplexity"});
    EXPECT_NEAR(predict["models"][0]["perplexity"]["mean_nll"].get<double>(), loss, kLossTolerance);
    EXPECT_EQ(predict["models"][0]["perplexity"]["predicted"], count);
  }

  std::string mask_text(const List& positions) const {
    std::string text(kScoredIds.size(), '0');
    for (const int position : positions) text[static_cast<std::size_t>(position)] = '1';
    return text + "\n";
  }

  TempFolder folder_;
  std::string saved_;
};

TEST_F(ScoredText, LossesAreThoseOfTheChosenTokens) {
  expect_losses("last", {11});
  expect_losses("9-", {9, 10, 11});
  expect_losses("3,7", {3, 7});
  expect_losses("5-8", {5, 6, 7, 8});
  expect_losses("-2-", {10, 11});
  expect_losses("0-2", {1, 2});  // the first token is not predicted
}

TEST_F(ScoredText, AMaskChoosesTheSameTokens) {
  const List positions = {2, 5, 11};
  expect_losses(folder_.write("mask.txt", mask_text(positions)).string(), positions);
  std::string header = "{'descr': '|b1', 'fortran_order': False, 'shape': (1, 12), }";
  header.resize(117, ' ');
  std::string npy("\x93NUMPY\x01\x00", 8);
  npy += static_cast<char>(header.size() + 1);
  npy += '\0' + header + '\n';
  for (const char flag : mask_text(positions).substr(0, 12)) npy += flag == '1' ? '\1' : '\0';
  expect_losses(folder_.write("mask.npy", npy).string(), positions);
  EXPECT_EQ(report_of(scored(
                "lens", (folder_.path() / "mask.npy").string()))["parameters"]["score_positions"],
            "mask.npy");
}

TEST_F(ScoredText, MeansOfMapsAreOfTheQueriesThatPredictThem) {
  const List queries = {2, 6, 7};  // of the tokens at 3, 7 and 8
  const json rows = report_of(scored("attention", "3,7-8"))["rows"];
  const json all = report_of({"attention", kScoredLlama, "--tokens", ids_text(kScoredIds)})["rows"];
  const StoredTensor maps = stored_tensor(saved_, "attentions");
  const std::int64_t heads = maps.shape[1], tokens = maps.shape[2];
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const json& row = rows[at];
    if (row["head"].is_null()) continue;
    const auto weight = [&](int query, int key) {
      const std::int64_t map = row["layer"].get<std::int64_t>() * heads + row["head"].get<int>();
      return maps.values[static_cast<std::size_t>((map * tokens + query) * tokens + key)];
    };
    double entropy = 0, sink = 0, before = 0, own = 0, distance = 0, even = 0;
    for (const int query : queries) {
      for (int key = 0; key <= query; ++key) {
        entropy -= weight(query, key) * std::log(weight(query, key));
        distance += weight(query, key) * (query - key);
      }
      sink += weight(query, 0);
      before += weight(query, query - 1);
      own += weight(query, query);
      even += 1.0 / (query + 1);
    }
    EXPECT_NEAR(row["entropy"].get<double>(), entropy / 3, 12 * kMapTolerance);
    EXPECT_NEAR(row["mean_distance"].get<double>(), distance / 3, 12 * kMapTolerance);
    EXPECT_NEAR(row["sink_mass"].get<double>(), sink / 3, kMapTolerance);
    EXPECT_NEAR(row["previous_token"].get<double>(), before / 3, kMapTolerance);
    EXPECT_NEAR(row["diagonal"].get<double>(), own / 3, kMapTolerance);
    EXPECT_EQ(row["unattended"], 0.0);
    EXPECT_NEAR(row["null_sink_mass"].get<double>(), even / 3, 1e-12);
    EXPECT_EQ(row["energy_rank"], all[at]["energy_rank"]) << "ranks are of whole maps";
  }
}

/// A model that sees texts both ways predicts a token where it stands.
TEST_F(ScoredText, OfEncodersTheQueryIsTheTokenItself) {
  const Words words = {"attention", tiny_model("bert"), "--tokens", "5,6,7,8"};
  double sum = 0;
  for (const char* position : {"0", "1", "2", "3"}) {
    sum +=
        report_of(words + Words{"--score-positions", position})["rows"][0]["entropy"].get<double>();
  }
  EXPECT_NEAR(report_of(words)["rows"][0]["entropy"].get<double>(), sum / 4, kMapTolerance);
}

/// Windows of a shard begin where examples do, drawn or not: every example here is the same.
TEST_F(ScoredText, WindowsOfAShardAreItsExamples) {
  std::vector<std::uint16_t> tokens;
  for (int example = 0; example < 60; ++example) tokens.insert(tokens.end(), {9, 4, 37, 21});
  const std::string shard = folder_.write("shard.bin", shard_bytes(tokens)).string();
  const Words lens = {"lens",     kScoredLlama, "--token-file",      shard,
                      "--length", "4",          "--score-positions", "last"};
  const double one = report_of({"lens", kScoredLlama, "--tokens", "9,4,37,21", "--score-positions",
                                "last"})["rows"]
                         .back()["loss"];
  for (const Words& order : {Words{}, Words{"--consecutive"}, Words{"--sample", "3"}}) {
    const json row = report_of(lens + order)["rows"].back();
    EXPECT_EQ(row["predicted"], 16);
    EXPECT_NEAR(row["loss"].get<double>(), one, kLossTolerance) << command_text(order);
  }
  std::string mask;
  for (int example = 0; example < 60; ++example) mask += example == 41 ? "0100\n" : "0000\n";
  const std::string file = folder_.write("mask.txt", mask).string();
  const json row = report_of({"lens", kScoredLlama, "--token-file", shard, "--length", "4",
                              "--sequences", "60", "--score-positions", file})["rows"]
                       .back();
  EXPECT_EQ(row["predicted"], 1);
}

// ---- Lines --------------------------------------------------------------------------------------

const Words kLines = {"To be, or not to be",
                      "that is the question:", "Whether 'tis nobler in the mind", "to suffer"};

std::string text_of_lines() {
  std::string text;
  for (const std::string& line : kLines) text += line + "\r\n\n";
  return text;
}

TEST(ScoredLines, EachIsATextOfItsOwn) {
  const TempFolder folder;
  const std::string file = folder.write("lines.txt", text_of_lines()).string();
  const json report =
      report_of({"predict", kShakespeareLlama, "--text-file", file, "--perplexity", "--lines"});
  ASSERT_EQ(report["rows"].size(), kLines.size());
  double sum = 0;
  std::int64_t predicted = 0;
  for (std::size_t line = 0; line < kLines.size(); ++line) {
    const json& row = report["rows"][line];
    const json alone = report_of(
        {"predict", kShakespeareLlama, "--text", kLines[line], "--perplexity"})["rows"][0];
    EXPECT_EQ(row["example"], line);
    EXPECT_EQ(row["first"], 0);
    EXPECT_EQ(row["length"], alone["length"]);
    EXPECT_NEAR(row["mean_nll"].get<double>(), alone["mean_nll"].get<double>(), kLossTolerance);
    predicted += row["predicted"].get<std::int64_t>();
    sum += row["mean_nll"].get<double>() * row["predicted"].get<double>();
  }
  const double mean = sum / static_cast<double>(predicted);
  EXPECT_NEAR(report["models"][0]["perplexity"]["mean_nll"].get<double>(), mean, 1e-9);
  for (const char* command : {"lens", "ablate"}) {
    Words words = {command, kShakespeareLlama, "--text-file", file, "--lines"};
    if (command == std::string("ablate")) words = words + Words{"--parts", "mlp", "--layers", "0"};
    const json lines = report_of(words);
    EXPECT_EQ(lines["parameters"]["lines"], true);
    EXPECT_EQ(lines["parameters"]["sequences"], kLines.size());
    EXPECT_EQ(lines["rows"].back()["predicted"], predicted) << command;
    EXPECT_NEAR(lines["rows"].back()["loss"].get<double>(), mean, kLossTolerance) << command;
  }
}

TEST(ScoredLines, AttentionIsTheMeanOverThem) {
  const TempFolder folder;
  const std::string file = folder.write("lines.txt", text_of_lines()).string();
  const Words last = {"--score-positions", "last", "--layers", "0"};
  const json row = report_of(Words{"attention", kShakespeareLlama, "--text-file", file, "--lines"} +
                             last)["rows"][0];
  double entropy = 0;
  for (const std::string& line : kLines) {
    entropy += report_of(Words{"attention", kShakespeareLlama, "--text", line} +
                         last)["rows"][0]["entropy"]
                   .get<double>();
  }
  EXPECT_EQ(row["sequences"], kLines.size());
  EXPECT_NEAR(row["entropy"].get<double>(), entropy / static_cast<double>(kLines.size()), 1e-5);
}

TEST(ScoredLines, ALongLineGivesSeveralWindowsAndNoneCrossesLines) {
  const TempFolder folder;
  const std::string file = folder.write("lines.txt", text_of_lines()).string();
  const json whole = report_of({"lens", kShakespeareLlama, "--text-file", file, "--lines"});
  const json cut =
      report_of({"lens", kShakespeareLlama, "--text-file", file, "--lines", "--length", "3"});
  EXPECT_GT(cut["parameters"]["sequences"], whole["parameters"]["sequences"].get<std::int64_t>());
  EXPECT_EQ(cut["parameters"]["length"], 3);
  const auto last_of = [&](const Words& more) {
    return report_of(Words{"lens", kShakespeareLlama, "--text-file", file, "--lines",
                           "--score-positions", "last"} +
                     more)["rows"]
        .back()["predicted"];
  };
  EXPECT_EQ(last_of({}), kLines.size());
  EXPECT_EQ(last_of({"--length", "3"}), kLines.size())
      << "the last token of each line is predicted";
}

TEST(ScoredLines, SingleTokensAreLeftOut) {
  const TempFolder folder;
  const std::string file = folder.write("lines.txt", "To be\na\nor not\n").string();
  const RunResult run =
      run_attnscope({"lens", kShakespeare, "--text-file", file, "--lines", "--format", "json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.err, "1 line of a single token left out")) << run.err;
  EXPECT_EQ(json::parse(run.out)["parameters"]["sequences"], 2);
}

// ---- Refusals -----------------------------------------------------------------------------------

TEST(ScoredPositions, WhatCannotBeScoredIsRefused) {
  const TempFolder folder;
  const std::string ids = "1,2,3,4";
  const auto lens = [&](const Words& more) {
    return Words{"lens", kScoredLlama, "--tokens", ids} + more;
  };
  const auto mask = [&](const std::string& name, const std::string& text) {
    return Words{"--score-positions", folder.write(name, text).string()};
  };
  expect_refusals(
      kUsage,
      {{"no form",
        lens({"--score-positions", "first"}),
        {"--score-positions", "'first' is neither"}},
       {"backwards", lens({"--score-positions", "3-2"}), {"ends before it begins"}},
       {"the first token", lens({"--score-positions", "0"}), {"no token that is predicted"}},
       {"beyond the end", lens({"--score-positions", "4-"}), {"no token that is predicted"}},
       {"a mask of another length",
        lens(mask("short.txt", "001\n")),
        {"short.txt", "has 3 values for example 1, which has 4 tokens"}},
       {"a mask of more examples",
        lens(mask("two.txt", "0011\n0011\n")),
        {"two.txt", "is a mask of 2 examples, and the text has 1"}},
       {"a mask of nothing", lens(mask("none.txt", "0000\n")), {"no token that is predicted"}},
       {"an empty mask", lens(mask("empty.txt", "")), {"is a mask of 0 examples"}},
       {"a map",
        {"attention", kScoredLlama, "--tokens", ids, "--heatmap", "0,0", "--score-positions",
         "last"},
        {"--heatmap", "--score-positions"}},
       {"random tokens",
        {"attention", kScoredLlama, "--induction", "--score-positions", "last"},
        {"--induction", "--score-positions"}},
       {"a grid", lens({"--grid", "--score-positions", "last"}), {"--grid", "--score-positions"}},
       {"what comes next",
        {"predict", kScoredLlama, "--tokens", ids, "--score-positions", "last"},
        {"--score-positions", "needs --perplexity"}},
       {"lines of ids", lens({"--lines"}), {"--lines", "--tokens"}}});
  expect_refusals(
      kBadFile,
      {{"no mask", lens(mask("words.txt", "0101\nyes\n")), {"words.txt", "line 2 holds 'y'"}},
       {"an array of numbers", lens(mask("mask.npy", "\x93NUMPY")), {"mask.npy"}}});
}

}  // namespace
}  // namespace attnscope::test
