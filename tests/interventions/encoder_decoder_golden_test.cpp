// `ablate` and `lens` of encoder-decoders, compared with float64 transformers with hooks
// (tools/golden_interventions_paired.py).
#include <map>
#include <set>
#include <string>

#include "tests/interventions/goldens.h"
#include "tests/support/paired_files.h"
#include "tests/support/store_command.h"

namespace attnscope::test {
namespace {

json paired_golden(const std::string& name) { return intervention_golden("paired-" + name); }

/// A report with its notes, which `lens` prints for encoder-decoders.
json report_with_notes(const Words& arguments) {
  const RunResult run = run_attnscope(arguments + Words{"--format", "json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return json::parse(run.out);
}

double perplexity_loss(const Words& pairs) {
  return report_of(Words{"predict"} + pairs +
                   Words{"--perplexity"})["models"][0]["perplexity"]["mean_nll"];
}

class PairedInterventions : public testing::TestWithParam<std::string> {};

TEST_P(PairedInterventions, AblationEqualsTransformersWithHooks) {
  const json golden = paired_golden(GetParam());
  const PairedFiles files(golden);
  for (const auto& [how, wanted] : golden["ablate"].items()) {
    SCOPED_TRACE(how);
    const Words pairs = files.with(golden[how == "resample" ? "even_pairs" : "pairs"]);
    const json report = report_of(Words{"ablate"} + pairs + Words{"--ablation", how});
    expect_rows(report["rows"], wanted, 1e-5, 1e-4);
    const double loss = perplexity_loss(pairs);
    for (const json& row : report["rows"]) EXPECT_NEAR(row["loss"].get<double>(), loss, 1e-6);
  }
}

TEST_P(PairedInterventions, LensEqualsTransformersAndEndsInTheModelsLoss) {
  const json golden = paired_golden(GetParam());
  const PairedFiles files(golden);
  const Words pairs = files.with(golden["pairs"]);
  const json report = report_with_notes(Words{"lens"} + pairs);
  expect_rows(report["rows"], golden["lens"], 1e-5, 1e-4);
  EXPECT_NEAR(report["rows"].back()["loss"].get<double>(), perplexity_loss(pairs), 1e-12);
  for (const json& row : report["rows"]) EXPECT_EQ(row["stack"], "decoder");
}

INSTANTIATE_TEST_SUITE_P(Cases, PairedInterventions,
                         testing::Values("t5", "t5-gated", "bart", "mbart"),
                         [](const auto& golden) {
                           std::string name = golden.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// The rows of a stack do not depend on which other stacks run.
TEST(PairedAblate, OneStackHasTheSameRowsAsInTheWholeRun) {
  const json golden = paired_golden("bart");
  const PairedFiles files(golden);
  const Words pairs = files.with(golden["pairs"]);
  const json all = report_of(Words{"ablate"} + pairs)["rows"];
  for (const char* stack : {"encoder", "decoder", "cross"}) {
    json wanted = json::array();
    for (const json& row : all) {
      if (row["stack"] == stack) wanted.push_back(row);
    }
    EXPECT_FALSE(wanted.empty());
    EXPECT_EQ(report_of(Words{"ablate"} + pairs + Words{"--stack", stack})["rows"], wanted);
  }
}

TEST(PairedAblate, CrossAttentionHasNoMlp) {
  const Words pair = {data_path("encoder_decoders/t5"), "--tokens", "5,6,7,8", "--target-tokens",
                      "0,9,3,1"};
  const json rows = report_of(Words{"ablate"} + pair + Words{"--components", "mlp"})["rows"];
  std::map<std::string, int> of_stack;
  for (const json& row : rows) {
    EXPECT_EQ(row["component"], "mlp");
    EXPECT_TRUE(row["loss_increase_error"].is_null());  // only one pair
    ++of_stack[row["stack"]];
  }
  EXPECT_EQ(of_stack, (std::map<std::string, int>{{"encoder", 2}, {"decoder", 3}}));
}

TEST(PairedAblate, LayersSelectInEachStackAndTablesNameStacks) {
  const Words pair = {data_path("encoder_decoders/t5"), "--tokens", "5,6,7,8", "--target-tokens",
                      "0,9,3,1"};
  const std::string table = output_of(Words{"ablate"} + pair);
  for (const char* stack : {"t5:encoder", "t5:decoder", "t5:cross"}) {
    EXPECT_TRUE(contains(table, stack)) << table;
  }
  const json rows = report_of(Words{"ablate"} + pair + Words{"--layers", "1"})["rows"];
  std::set<std::string> stacks;
  for (const json& row : rows) {
    EXPECT_EQ(row["layer"], 1);
    stacks.insert(row["stack"]);
  }
  EXPECT_EQ(stacks.size(), 3U);
}

/// Each layer of each stack is a separate item, and another source is another text.
TEST_F(CliStore, KeepsAblationsOfPairs) {
  const std::string model = data_path("encoder_decoders/t5");
  const auto of = [&](const char* source) {
    return Words{"ablate", model, "--tokens", source, "--target-tokens", "0,9,3,1"};
  };
  // 2 layers of the encoder, 3 of the decoder and of cross-attention.
  expect_computed(of("5,6,7,8"), 8);
  expect_computed(of("5,6,7,8"), 0);
  expect_computed(of("5,6,7,9"), 8);
}

TEST(PairedLens, OneTargetGivesAGrid) {
  const Words pair = {data_path("encoder_decoders/t5"), "--tokens", "5,6,7,8", "--target-tokens",
                      "0,9,3,1"};
  const json report = report_with_notes(Words{"lens"} + pair + Words{"--grid"});
  const json& rows = report["rows"];
  ASSERT_EQ(rows.size(), 4U * 3U);  // resid_pre of 3 layers and the last resid_post, at 3 tokens
  EXPECT_EQ(rows.back()["position"], 2);
  EXPECT_EQ(rows.back()["token_id"], 3);
  EXPECT_EQ(rows.back()["kl"], 0.0);
  EXPECT_NEAR(report["models"][0]["states"].back()["loss"].get<double>(), perplexity_loss(pair),
              1e-12);
  const json next = report_of({"predict", data_path("encoder_decoders/t5"), "--tokens", "5,6,7,8",
                               "--target-tokens", "0,9,3", "--top", "1"})["rows"][0];
  EXPECT_EQ(rows.back()["top_token"], next["token_id"]);
}

TEST(PairedLens, NotesThatAnEncoderHasNoHead) {
  const Words pair = {data_path("encoder_decoders/t5"), "--tokens", "5,6,7,8", "--target-tokens",
                      "0,9,3,1"};
  const RunResult both = run_attnscope(Words{"lens"} + pair);
  EXPECT_EQ(both.exit_code, 0);
  EXPECT_TRUE(contains(both.err, "t5:encoder: skipped")) << both.err;
  const RunResult alone = run_attnscope(Words{"lens"} + pair + Words{"--stack", "encoder"});
  EXPECT_NE(alone.exit_code, 0);
  EXPECT_TRUE(contains(alone.err, "no logits")) << alone.err;
}

TEST(PairedRefusals, NameTheMissingArgument) {
  const std::string t5 = data_path("encoder_decoders/t5"), gpt2 = data_path("forward/gpt2");
  const Words source = {"--tokens", "5,6,7"}, target = {"--target-tokens", "0,9,1"};
  for (const char* command : {"ablate", "lens"}) {
    expect_refusal(Words{command, t5} + source, kUsage, {"--target", "missing target text"});
    expect_refusal(Words{command, gpt2} + source + target, kUsage,
                   {"requires an encoder-decoder model"});
    expect_refusal(Words{command, t5, gpt2} + source + target, kUsage,
                   {"gpt2", "run these models separately"});
    expect_refusal(Words{command, t5} + source + Words{"--target-tokens", "0"}, kUsage,
                   {"nothing to predict"});
    expect_refusal(Words{command, t5} + source + Words{"--target-tokens", "0,99,1"}, kUsage,
                   {"token id 99"});
    expect_refusal(Words{command, t5, "--tokens", "99"} + target, kUsage, {"token id 99"});
    expect_refusal(Words{command, t5, "--prompts", source_path("examples/prompts.jsonl")},
                   kUnsupported, {"--prompts", "a source and a target"});
    expect_refusal(Words{command, data_path("encoder_decoders/whisper")} + source + target, kUsage,
                   {"takes audio, not text"});
  }
  expect_refusal(Words{"ablate", t5, "--ablation", "resample"} + source + target, kUsage,
                 {"--ablation", "requires at least two pairs"});
  const json golden = paired_golden("t5");
  const PairedFiles files(golden);
  expect_refusal(Words{"ablate"} + files.with(golden["pairs"]) + Words{"--ablation", "resample"},
                 kUsage, {"--ablation", "of equal length"});
}

}  // namespace
}  // namespace attnscope::test
