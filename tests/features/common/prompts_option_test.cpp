// `--prompts` of `ablate`, `lens` and `predict --attribution`: prompts with answers.
#include "tests/interventions/goldens.h"

namespace attnscope::test {
namespace {

/// The prompts of the golden file, one per line.
std::string prompt_lines(const json& golden) {
  std::string lines;
  for (const json& prompt : golden["prompts"]) lines += prompt.dump() + "\n";
  return lines;
}

class PromptGoldens : public testing::TestWithParam<std::string> {};

TEST_P(PromptGoldens, EqualsTransformersWithHooks) {
  const json golden = intervention_golden(GetParam());
  const TempFolder folder;
  const Words prompts = {source_path(golden["model"]), "--prompts",
                         folder.write("prompts.jsonl", prompt_lines(golden)).string()};
  for (const auto& [how, wanted] : golden["ablate"].items()) {
    SCOPED_TRACE(how);
    const Words replaced = how == "corrupted" ? Words{} : Words{"--ablation", how};
    const json rows = report_of(Words{"ablate"} + prompts + replaced +
                                Words{"--layers", golden["layers"], "--quiet"})["rows"];
    expect_rows(rows, wanted, 1e-5, 1e-4);
    if (how != "corrupted") {
      EXPECT_TRUE(rows[0]["denoising_effect"].is_null());
    }
  }
  if (!golden.contains("lens")) return;
  expect_rows(report_of(Words{"lens", "--quiet"} + prompts)["rows"], golden["lens"], 1e-5, 1e-4);

  const json report = report_of(Words{"predict", "--attribution", "--quiet"} + prompts);
  json parts = json::array();
  double sum = 0, share = 0;
  for (const json& row : report["rows"]) {
    sum += row["direct_effect"].get<double>();
    share += row["share"].get<double>();
    if (row["component"] == "head" || row["component"] == "mlp") parts.push_back(row);
  }
  expect_rows(parts, golden["attribution"], 2e-5, 0);
  EXPECT_NEAR(sum, report["models"][0]["attributed"]["logit"].get<double>(), 2e-5);
  EXPECT_NEAR(share, 1, 1e-5);  // all components together have 100%
}

INSTANTIATE_TEST_SUITE_P(Cases, PromptGoldens,
                         testing::Values("shakespeare-gpt2-prompts", "induction-gpt2-prompts",
                                         "falcon_h1-prompts"),
                         [](const auto& golden) {
                           return golden.param.substr(0, golden.param.find('-'));
                         });

TEST(Prompts, TextsEqualTheirTokens) {
  const json golden = intervention_golden("shakespeare-gpt2-prompts");
  const json rows = report_of({"lens", kShakespeare, "--prompts",
                               source_path("examples/prompts.jsonl"), "--quiet"})["rows"];
  expect_rows(rows, golden["lens"], 1e-5, 1e-4);
}

/// Shares are relative to the last state, so its own share is 1 for any prompts.
TEST(Prompts, TheLastStateHasAShareOfOneWithoutError) {
  const json rows = report_of({"lens", kShakespeare, "--prompts",
                               source_path("examples/prompts.jsonl"), "--quiet"})["rows"];
  EXPECT_EQ(rows.back()["share"], 1.0);
  EXPECT_EQ(rows.back()["share_error"], 0.0);
  EXPECT_GT(rows[0]["share_error"], 0.0);
}

TEST(Prompts, PromptsWithoutCorruptedOnesHaveNoDenoisingEffect) {
  const TempFolder folder;
  const auto ablated = [&](const std::string& right, const std::string& wrong) {
    const std::string line = "{\"clean\": \"I say that thou\", \"correct\": \" " + right +
                             "\", \"incorrect\": \" " + wrong + "\"}\n";
    return run_attnscope({"ablate", kShakespeare, "--prompts",
                          folder.write("p.jsonl", line).string(), "--layers", "0", "--format",
                          "json"});
  };
  const json found = json::parse(ablated("art", "are").out);
  for (const json& row : found["rows"]) {
    EXPECT_EQ(row["ablation"], "mean");
    EXPECT_TRUE(row["noising_effect"].is_number());
    EXPECT_TRUE(row["noising_effect_error"].is_null());  // only one prompt
    EXPECT_TRUE(row["denoising_effect"].is_null());
    EXPECT_TRUE(row["corrupted_logit_difference"].is_null());
    EXPECT_NEAR(row["logit_difference"].get<double>(), 5.7358, 1e-3);
  }
  // If the incorrect answer has the higher logit, there are no shares, and a note reports this.
  const RunResult none = ablated("are", "art");
  EXPECT_TRUE(contains(none.err, "so no shares are reported")) << none.err;
  EXPECT_TRUE(json::parse(none.out)["rows"][0]["noising_effect"].is_null());
}

/// Logits before the softcap, as for the components' contributions.
TEST(Prompts, ContributionsSumToTheLogitDifferenceBeforeTheSoftcap) {
  const TempFolder folder;
  const auto prompts =
      folder.write("p.jsonl",
                   "{\"clean\": [1, 5, 9, 2], \"correct\": 7, \"incorrect\": 3}\n"
                   "{\"clean\": [4, 5, 6, 2], \"correct\": 8, \"incorrect\": 3}\n");
  const json found =
      json::parse(run_attnscope({"predict", data_path("forward/gemma2"), "--attribution",
                                 "--prompts", prompts.string(), "--format", "json"})
                      .out);
  double sum = 0;
  for (const json& row : found["rows"]) sum += row["direct_effect"].get<double>();
  EXPECT_NEAR(sum, found["models"][0]["attributed"]["logit"].get<double>(), 2e-5);
}

TEST(Prompts, ErrorsNameTheLine) {
  const TempFolder folder;
  const std::string good = R"({"clean": "To be", "correct": " or", "incorrect": " the"})";
  const struct {
    std::string text, fault;
  } faults[] = {
      {"", "contains no prompts"},
      {"\n  \n", "contains no prompts"},
      {good + "\n{\"clean\": \"a\", \"correct\": \" b\"}", "line 2: missing 'incorrect'"},
      {"{\"correct\": \" be\", \"incorrect\": \" the\"}", "line 1: missing 'clean'"},
      {"{\"clean\": \"\", \"correct\": \" be\", \"incorrect\": \" the\"}",
       "line 1: 'clean' is empty"},
      {"[1, 2]", "line 1: is not a JSON object"},
      {good + "\n\n{\"clean\": ", "line 3"},
      {"{\"clean\": \"a\xff\"}", "line 1: is not UTF-8 at byte 12"},
      {R"({"clean": "To be", "correct": " shakespeares", "incorrect": " the"})", "expected one"},
      {R"({"clean": "To be", "correct": " the", "incorrect": " the"})", "are the same token"},
      {R"({"clean": "To be", "correct": 5, "incorrect": 5000})", "5000"},
      {R"({"clean": [1, -2], "correct": 5, "incorrect": 6})", "neither a text nor token ids"},
      {R"({"clean": {"a": 1}, "correct": 5, "incorrect": 6})", "neither a text nor token ids"},
      {R"({"clean": "To be", "corrupted": "To be or", "correct": 5, "incorrect": 6})",
       "line 1: 'clean' has 2 tokens, but 'corrupted' has 3"},
      {R"({"clean": "To be", "corupted": "To do", "correct": 5, "incorrect": 6})",
       "line 1: unknown key 'corupted'"},
      {good + "\n" + R"({"clean": "To be", "corrupted": "To do", "correct": 5, "incorrect": 6})",
       "line 2: has a 'corrupted', but line 1 has none"},
      {R"({"clean": "To be", "clean": "To do", "correct": 5, "incorrect": 6})", "line 1"}};
  for (const auto& [text, fault] : faults) {
    SCOPED_TRACE(text);
    const std::string file = folder.write("p.jsonl", text).string();
    const RunResult run = run_attnscope({"ablate", kShakespeare, "--prompts", file});
    EXPECT_NE(run.exit_code, 0);
    EXPECT_EQ(run.out, "");
    EXPECT_TRUE(contains(run.err, fault)) << run.err;
    EXPECT_EQ(lines_of(run.err).size(), 1u) << run.err;
  }
}

TEST(Prompts, RejectsUnsupportedCombinations) {
  const TempFolder folder;
  const std::string ids =
      folder.write("p.jsonl", "{\"clean\": [1, 2, 3], \"correct\": 5, \"incorrect\": 6}\n")
          .string();
  const std::string texts = source_path("examples/prompts.jsonl");
  const struct {
    Words command;
    std::string reason;
  } refused[] = {{{"predict", kShakespeare, "--prompts", ids}, "--prompts: requires --attribution"},
                 {{"ablate", kShakespeare, "--prompts", ids, "--ablation", "resample"},
                  "resample is not available for prompts"},
                 {{"ablate", kShakespeare, "--prompts", ids, "--text", "To be"}, "--prompts"},
                 {{"lens", data_path("forward/bert"), "--prompts", ids}, "is bidirectional"},
                 {{"lens", data_path("forward/llama-body"), "--prompts", ids}, "no logits"},
                 {{"lens", data_path("stacks/vit"), "--prompts", ids}, "does not take text"},
                 {{"lens", data_path("forward/llama"), "--prompts", texts},
                  "has no tokenizer: no tokenizer.json"},
                 {{"predict", data_path("forward/gemma4"), "--attribution", "--prompts", ids},
                  "inputs other than the residual stream"}};
  for (const auto& [command, reason] : refused) {
    SCOPED_TRACE(command_text(command));
    const RunResult run = run_attnscope(command);
    EXPECT_NE(run.exit_code, 0);
    EXPECT_TRUE(contains(run.err, reason)) << run.err;
  }
}

}  // namespace
}  // namespace attnscope::test
