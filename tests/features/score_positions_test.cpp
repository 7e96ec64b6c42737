// `--score-positions` and `--lines`: losses and means over selected positions, compared with
// float64 sums over the logits and maps of `predict --save`.
#include <cmath>
#include <numeric>

#include "tests/features/attention/attention_model.h"
#include "tests/support/refusals.h"
#include "tests/support/stored_tensor.h"

namespace attnscope::test {
namespace {

using List = std::vector<int>;

const List kScoredIds = {5, 11, 7, 30, 2, 19, 44, 8, 23, 16, 3, 41};
const std::string kScoredLlama = tiny_model("llama");

/// Losses are float64 softmaxes of float32 logits, which two runs compute in different batches.
constexpr double kLossTolerance = 1e-5;
/// Sums of up to 12 float32 weights.
constexpr double kMapTolerance = 1e-6;

class ScoredText : public testing::Test {
 protected:
  ScoredText() {
    saved_ = (folder_.path() / "run.safetensors").string();
    report_of({"predict", kScoredLlama, "--tokens", ids_text(kScoredIds), "--save", saved_});
  }

  /// The mean of −log of the probabilities of the tokens at these positions.
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
    EXPECT_EQ(lens["positions"], count);
    const json ablate =
        report_of(scored("ablate", positions) + Words{"--components", "mlp"})["rows"][0];
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

TEST_F(ScoredText, LossesAreOverTheSelectedPositions) {
  expect_losses("last", {11});
  expect_losses("9-", {9, 10, 11});
  expect_losses("3,7", {3, 7});
  expect_losses("5-8", {5, 6, 7, 8});
  expect_losses("-2-", {10, 11});
  expect_losses("0-2", {1, 2});  // the first token is not predicted
}

TEST_F(ScoredText, AMaskSelectsTheSamePositions) {
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

TEST_F(ScoredText, MapMeansAreOverTheQueriesThatPredictThem) {
  const List queries = {2, 6, 7};  // predict the tokens at 3, 7 and 8
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
    EXPECT_NEAR(row["current_token"].get<double>(), own / 3, kMapTolerance);
    double ratio = 0;
    for (const char* position : {"3", "7", "8"}) {
      ratio += report_of(scored("attention", position))["rows"][at]["output_ratio"].get<double>();
    }
    EXPECT_NEAR(row["output_ratio"].get<double>(), ratio / 3, 1e-6 * ratio);
    EXPECT_EQ(row["learned_sink_mass"], 0.0);
    EXPECT_NEAR(row["uniform_sink_mass"].get<double>(), even / 3, 1e-12);
    EXPECT_EQ(row["energy_rank"], all[at]["energy_rank"]) << "ranks are of whole maps";
  }
}

/// A bidirectional model predicts a token at its own position.
TEST_F(ScoredText, ForEncodersTheQueryIsTheTokenItself) {
  const Words words = {"attention", tiny_model("bert"), "--tokens", "5,6,7,8"};
  double sum = 0;
  for (const char* position : {"0", "1", "2", "3"}) {
    sum +=
        report_of(words + Words{"--score-positions", position})["rows"][0]["entropy"].get<double>();
  }
  EXPECT_NEAR(report_of(words)["rows"][0]["entropy"].get<double>(), sum / 4, kMapTolerance);
}

/// Windows of a shard start where examples start, whether sampled or not: here all examples are
/// equal.
TEST_F(ScoredText, WindowsOfAShardAreItsExamples) {
  std::vector<std::uint16_t> tokens;
  for (int example = 0; example < 60; ++example) tokens.insert(tokens.end(), {9, 4, 37, 21});
  const std::string shard = folder_.write("shard.bin", shard_bytes(tokens)).string();
  const Words lens = {"lens",     kScoredLlama, "--token-file",      shard,
                      "--length", "4",          "--score-positions", "last"};
  const double one = report_of({"lens", kScoredLlama, "--tokens", "9,4,37,21", "--score-positions",
                                "last"})["rows"]
                         .back()["loss"];
  for (const Words& order : {Words{}, Words{"--consecutive"}, Words{"--seed", "3"}}) {
    const json row = report_of(lens + order)["rows"].back();
    EXPECT_EQ(row["predicted"], 60) << "short examples are run as far as they have 4096 tokens";
    EXPECT_NEAR(row["loss"].get<double>(), one, kLossTolerance) << command_text(order);
    const json few = report_of(lens + order + Words{"--sequences", "16"})["rows"].back();
    EXPECT_EQ(few["predicted"], 16);
    EXPECT_NEAR(few["loss"].get<double>(), one, kLossTolerance) << command_text(order);
  }
  std::string mask;
  for (int example = 0; example < 60; ++example) mask += example == 41 ? "0100\n" : "0000\n";
  const std::string file = folder_.write("mask.txt", mask).string();
  const json row = report_of({"lens", kScoredLlama, "--token-file", shard, "--length", "4",
                              "--sequences", "60", "--score-positions", file})["rows"]
                       .back();
  EXPECT_EQ(row["predicted"], 1);
}

// ---- Experts ------------------------------------------------------------------------------------

/// Router shares are over the rows that predict the selected tokens.
TEST(ScoredRouting, IsOverTheRowsThatPredict) {
  const Words experts = {"experts", tiny_model("phimoe"), "--tokens", "3,1,4,1,5"};
  const auto rows = [&](const Words& more) { return report_of(experts + more)["rows"]; };
  const json all = rows({});
  json sums;
  for (const char* position : {"1", "2", "3", "4"}) {
    const json one = rows({"--score-positions", position});
    for (std::size_t layer = 0; layer < one.size(); ++layer) {
      EXPECT_EQ(one[layer]["tokens"], 1);
      for (std::size_t expert = 0; expert < one[layer]["load"].size(); ++expert) {
        json& sum = sums[layer][expert];
        sum = (sum.is_null() ? 0.0 : sum.get<double>()) +
              one[layer]["load"][expert].get<double>() / 4;
      }
    }
  }
  const json four = rows({"--score-positions", "1-"});
  for (std::size_t layer = 0; layer < all.size(); ++layer) {
    EXPECT_EQ(all[layer]["tokens"], 5);
    EXPECT_EQ(four[layer]["tokens"], 4);
    for (std::size_t expert = 0; expert < sums[layer].size(); ++expert) {
      EXPECT_NEAR(four[layer]["load"][expert].get<double>(), sums[layer][expert].get<double>(),
                  1e-12);
    }
  }
}

// ---- Refusals -----------------------------------------------------------------------------------

/// A .npy file with `bytes` zero bytes of data.
std::string npy_text(const std::string& type, const std::string& shape, std::size_t bytes,
                     const std::string& by_columns = "False") {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': " + by_columns + ", 'shape': " + shape + ", }";
  header.resize(117, ' ');
  std::string npy("\x93NUMPY\x01\x00", 8);
  npy += static_cast<char>(header.size() + 1);
  npy += '\0';
  return npy + header + '\n' + std::string(bytes, '\0');
}

TEST(ScoredPositions, RejectsPositionsThatCannotBeScored) {
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
       {"backwards", lens({"--score-positions", "3-2"}), {"ends before it starts"}},
       {"the first token", lens({"--score-positions", "0"}), {"selects no predicted token"}},
       {"beyond the end",
        lens({"--score-positions", "4-"}),
        {"'4-' has a position past the end of the example (4 tokens)"}},
       {"one of several beyond the end",
        lens({"--score-positions", "2,4"}),
        {"'2,4' has a position past the end"}},
       {"before the start", lens({"--score-positions", "-5"}), {"past the end of the example"}},
       {"from the end to the start",
        lens({"--score-positions", "last-2"}),
        {"counted from the end and ends at one counted from the start"}},
       {"nothing", lens({"--score-positions", ","}), {"--score-positions"}},
       {"a number that overflows",
        lens({"--score-positions", "99999999999999999999"}),
        {"is neither a list of positions nor an existing file"}},
       {"no text",
        {"experts", tiny_model("phimoe"), "--score-positions", "last"},
        {"--score-positions: requires an input text"}},
       {"lines without a text",
        {"experts", tiny_model("phimoe"), "--lines"},
        {"--lines: requires an input text"}},
       {"a mask of another length",
        lens(mask("short.txt", "001\n")),
        {"short.txt", "has 3 values for example 1, which has 4 tokens"}},
       {"a mask of more examples",
        lens(mask("two.txt", "0011\n0011\n")),
        {"two.txt", "the mask has 2 examples, but the text has 1"}},
       {"a mask of nothing", lens(mask("none.txt", "0000\n")), {"selects no predicted token"}},
       {"an empty mask", lens(mask("empty.txt", "")), {"the mask has 0 examples"}},
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
        {"--score-positions", "requires --perplexity"}},
       {"lines of ids", lens({"--lines"}), {"--lines", "--tokens"}}});
  expect_refusals(
      kBadFile,
      {{"no mask", lens(mask("words.txt", "0101\nyes\n")), {"words.txt", "line 2 contains 'y'"}},
       {"another digit", lens(mask("two.txt", "0121\n")), {"two.txt", "line 1 contains '2'"}},
       {"a cut array", lens(mask("cut.npy", "\x93NUMPY")), {"cut.npy"}},
       {"an array of integers",
        lens(mask("bytes.npy", npy_text("|u1", "(1, 4)", 4))),
        {"bytes.npy", "its values are not of type bool"}},
       {"an array of numbers",
        lens(mask("floats.npy", npy_text("<f4", "(1, 4)", 16))),
        {"floats.npy", "its values are not of type bool"}},
       {"three axes",
        lens(mask("axes.npy", npy_text("|b1", "(1, 2, 2)", 4))),
        {"axes.npy", "has 3 axes"}},
       {"a shape of more values",
        lens(mask("more.npy", npy_text("|b1", "(2, 4)", 4))),
        {"more.npy", "requires 8 bytes, but it has 4 bytes", "save bool values"}},
       {"no order",
        lens(mask("columns.npy", npy_text("|b1", "(1, 4)", 4, "Maybe"))),
        {"columns.npy", "it does not specify the order of its values", "save bool values"}}});
}

}  // namespace
}  // namespace attnscope::test
