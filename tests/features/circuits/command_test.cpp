// The `circuits` command: rows, variants, edge cases, errors, and identical output for any number
// of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/program.h"
#include "tests/support/tiny_llama.h"

namespace attnscope {
namespace {

using namespace test;

const std::string kLlama = data_path("llama");
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

json circuit_row(const json& report, int layer, const std::string& circuit, const json& head) {
  for (const json& row : report.at("rows")) {
    if (row.at("layer") == layer && row.at("circuit") == circuit && row.at("head") == head) {
      return row;
    }
  }
  ADD_FAILURE() << "no row of " << circuit << ", layer " << layer << ", head " << head;
  return {};
}

TEST(CliCircuits, RowsAreTheSumThenTheHeadsOfEachCircuit) {
  const json report = report_of({"circuits", kLlama});
  EXPECT_EQ(report.at("command"), "circuits");
  EXPECT_EQ(report.at("parameters").at("rope_offset"), 0);
  EXPECT_EQ(report.at("parameters").at("fold_norm"), false);
  const json& rows = report.at("rows");
  ASSERT_EQ(rows.size(), 2u * 2 * (1 + 4));
  EXPECT_TRUE(rows[0].at("head").is_null());
  EXPECT_EQ(rows[1].at("head"), 0);
  EXPECT_EQ(rows[5].at("circuit"), "ov");
  EXPECT_EQ(
      keys_of(rows[0]),
      sorted({"model", "layer", "circuit", "head", "energy_rank", "factor_rank", "head_space_rank",
              "rank_drop", "head_space_rank_drop", "identity_cosine", "identity_cosine_bound",
              "identity_distance", "identity_scale", "identity_residual", "symmetry",
              "positive_fraction", "copying_score", "frobenius_norm", "max_possible_rank"}));
  EXPECT_EQ(keys_of(rows[0].at("factor_rank").at("0.9")), sorted({"q", "k"}));
  EXPECT_EQ(keys_of(rows[5].at("factor_rank").at("0.9")), sorted({"o", "v"}));
}

TEST(CliCircuits, EqualsTheSpectrumOfTheSameCircuits) {
  const json spectra =
      report_of({"spectrum", kLlama, "--matrix", "qk,ov", "--per-head", "--energy", "0.9,0.99"});
  const json circuits = report_of({"circuits", kLlama});
  for (const json& row : circuits.at("rows")) {
    const json spectrum = find_row(spectra.at("rows"), row.at("layer"),
                                   row.at("circuit").get<std::string>(), row.at("head"));
    EXPECT_EQ(row.at("energy_rank"), spectrum.at("energy_rank"));
    EXPECT_EQ(row.at("max_possible_rank"), spectrum.at("max_possible_rank"));
    const double norm = spectrum.at("frobenius_norm");
    EXPECT_NEAR(row.at("frobenius_norm").get<double>(), norm, 1e-12 * norm);
  }
}

TEST(CliCircuits, ThreadsDoNotChangeTheOutput) {
  for (const Words& options : {Words{}, Words{"--composition"}, Words{"--fold-norm"}}) {
    const Words words =
        Words{"circuits", kLlama, data_path("albert"), "--quiet", "--format", "json"} + options;
    EXPECT_EQ(output_of(words + Words{"--threads", "1"}),
              output_of(words + Words{"--threads", "5"}));
  }
}

TEST(CliCircuits, OffsetZeroIsTheDefault) {
  const Words words = {"circuits", kLlama, "--format", "csv"};
  EXPECT_EQ(output_of(words), output_of(words + Words{"--rope-offset", "0"}));
  EXPECT_NE(output_of(words), output_of(words + Words{"--rope-offset", "-1"}));
}

TEST(CliCircuits, OffsetDoesNotChangeFactorRanksOrOv) {
  const json plain = report_of({"circuits", kLlama});
  const json turned = report_of({"circuits", kLlama, "--rope-offset", "7"});
  for (std::size_t at = 0; at < plain.at("rows").size(); ++at) {
    const json &one = plain.at("rows")[at], &two = turned.at("rows")[at];
    EXPECT_EQ(one.at("factor_rank"), two.at("factor_rank"));
    EXPECT_EQ(one == two, one.at("circuit") == "ov") << one;
  }
}

TEST(CliCircuits, BiasesMakeTheOvCircuitRectangular) {
  const json report = report_of({"circuits", data_path("bert"), "--with-bias", "--layers", "0"});
  const json qk = circuit_row(report, 0, "qk", nullptr), ov = circuit_row(report, 0, "ov", 0);
  EXPECT_FALSE(qk.at("symmetry").is_null());
  for (const char* name :
       {"identity_cosine", "identity_cosine_bound", "identity_distance", "identity_scale",
        "identity_residual", "symmetry", "positive_fraction", "copying_score"}) {
    EXPECT_TRUE(ov.at(name).is_null()) << name;
  }
  EXPECT_TRUE(ov.at("head_space_rank").at("0.9").is_null());
  EXPECT_GT(ov.at("frobenius_norm"), 0);
}

TEST(CliCircuits, ZeroHeadHasRankZeroAndNoScores) {
  const TempFolder folder;
  TinyLlama model;
  for (std::int64_t row = 0; row < TinyLlama::kHeadDim; ++row) {
    for (std::int64_t col = 0; col < TinyLlama::kWidth; ++col) {
      set_element(model.attention(0, 'q'), row, col, 0);
    }
  }
  const json report = report_of({"circuits", model.write(folder, "zero")});
  const json zero = circuit_row(report, 0, "qk", 0);
  EXPECT_EQ(zero.at("energy_rank").at("0.9"), 0);
  EXPECT_EQ(zero.at("frobenius_norm"), 0);
  EXPECT_TRUE(zero.at("symmetry").is_null());
  EXPECT_EQ(zero.at("identity_residual"), 1);
  EXPECT_FALSE(circuit_row(report, 0, "qk", 1).at("symmetry").is_null());
  const json pairs = report_of({"circuits", (folder.path() / "zero").string(), "--composition"});
  EXPECT_EQ(pairs.at("rows").size(), 3u * 4 * 4);
}

TEST(CliCircuits, SkipsOnlyHeadsWithNanOrInf) {
  const TempFolder folder;
  TinyLlama model;
  set_element(model.attention(0, 'o'), 3, TinyLlama::kHeadDim, kNan);  // head 1
  set_element(model.attention(1, 'k'), 0, 0, kNan);                    // heads 0 and 1
  const std::string path = model.write(folder, "nan");
  const json report = report_of({"circuits", path});
  EXPECT_EQ(report.at("rows").size(), 2u * 2 * 5 - 2 - 3);
  ASSERT_EQ(report.at("skipped").size(), 5u);
  for (const json& skipped : report.at("skipped")) {
    EXPECT_TRUE(contains(skipped.at("reason").get<std::string>(), "NaN or Inf"));
  }
  const json pairs = report_of({"circuits", path, "--composition"});
  // Three of four heads are senders. As receivers, two of four have finite queries and keys, and
  // all four have finite values.
  EXPECT_EQ(pairs.at("rows").size(), 3u * (2 + 2 + 4));
  EXPECT_EQ(pairs.at("skipped").size(), 3u);
  for (const json& row : pairs.at("rows")) EXPECT_TRUE(row.at("score").is_number()) << row;
}

TEST(CliCircuits, CompositionGoesFromEarlierToLaterLayers) {
  const TempFolder folder;
  const json report = report_of({"circuits", TinyLlama(3).write(folder, "three"), "--composition"});
  EXPECT_EQ(report.at("rows").size(), 3u * 3 * 4 * 4);
  for (const json& row : report.at("rows")) {
    EXPECT_LT(row.at("layer"), row.at("receiver_layer"));
    EXPECT_GE(row.at("score"), 0);
    EXPECT_LE(row.at("score"), 1);
    EXPECT_EQ(keys_of(row), sorted({"model", "kind", "layer", "head", "receiver_layer",
                                    "receiver_head", "score", "excess"}));
  }
  const std::string one = TinyLlama(1).write(folder, "one");
  EXPECT_TRUE(report_of({"circuits", one, "--composition"}).at("rows").empty());
  EXPECT_TRUE(contains(output_of({"circuits", one, "--composition"}), "Score"));
}

TEST(CliCircuits, TablesNameTheVariant) {
  EXPECT_TRUE(contains(output_of({"circuits", kLlama}), "weights as stored"));
  EXPECT_TRUE(contains(legend_of(output_of({"circuits", kLlama, "--fold-norm", "--with-bias",
                                            "--rope-offset", "-2"})),
                       "norm gains folded in, with biases, qk at rotary offset -2"));
}

TEST(CliCircuits, ReportsErrorsInOneLine) {
  const TempFolder folder;
  TinyLlama spiral;
  spiral.config["rope_scaling"] = {{"rope_type", "spiral"}, {"factor", 4.0}};
  const std::string scaled = spiral.write(folder, "spiral");
  const struct {
    Words arguments;
    int code;
    const char* said;
  } cases[] = {
      {{"circuits", data_path("gpt2"), "--rope-offset", "-1"}, 2, "no rotary positions"},
      {{"circuits", scaled, "--rope-offset", "-1"}, 5, "'spiral' is not known"},
      {{"circuits", kLlama, "--rope-offset", "far"}, 2, "--rope-offset"},
      {{"circuits", kLlama, "--circuit", "q"}, 2, "is not a circuit"},
      {{"circuits", kLlama, "--composition", "--with-bias"}, 2, "--with-bias"},
      {{"circuits", kLlama, "--composition", "--energy", "0.5"}, 2, "--composition"},
  };
  for (const auto& expected : cases) {
    SCOPED_TRACE(command_text(expected.arguments));
    const RunResult run = run_attnscope(expected.arguments);
    EXPECT_EQ(run.exit_code, expected.code) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_TRUE(contains(run.err, expected.said)) << run.err;
  }
  EXPECT_EQ(run_attnscope({"circuits", scaled}).exit_code, 0);
}

TEST(CliCircuits, SkipsALayerWithoutItsNorm) {
  const TempFolder folder;
  const std::string without = TinyLlama(2).write(folder, "without-norms");
  const RunResult run = run_attnscope({"circuits", without, "--fold-norm", "--format", "json"});
  EXPECT_EQ(run.exit_code, 6);
  EXPECT_TRUE(contains(run.err, "input_layernorm.weight' is missing")) << run.err;
  const json report = json::parse(run.out);
  EXPECT_TRUE(report["rows"].empty());
  EXPECT_TRUE(contains(report["skipped"][0]["reason"].get<std::string>(),
                       "layers.0.input_layernorm.weight"));
}

TEST(CliCircuits, NotesTheNonlinearPartOfQwen) {
  const RunResult run = run_attnscope({"circuits", data_path("qwen3"), "--circuit", "qk"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "not linear")) << run.err;
}

}  // namespace
}  // namespace attnscope
