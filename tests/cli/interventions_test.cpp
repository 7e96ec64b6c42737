// `lens`, `ablate`, `predict --attribution` and the field `raises` against transformers with hooks
// in float64 (tools/golden_interventions.py).
#include <cmath>
#include <map>

#include "tests/cli/attention_model.h"

namespace attnscope::test {
namespace {

json intervention_golden(const std::string& name) {
  return json::parse(read_file(source_path("tests/golden/interventions/" + name + ".json")));
}

/// The golden's text, as windows of a shard.
Words windows_of(const json& golden, const TempFolder& folder) {
  std::vector<std::uint16_t> tokens;
  for (const json& sequence : golden["tokens"]) {
    for (const json& token : sequence) tokens.push_back(token);
  }
  return {source_path(golden["model"]),
          "--token-file",
          folder.write("tokens.bin", shard_bytes(tokens)).string(),
          "--sequences",
          std::to_string(golden["tokens"].size()),
          "--length",
          std::to_string(golden["tokens"][0].size())};
}

/// Float32 passes stray by 2e-6 from float64 ones on these texts.
void expect_near(const json& got, const json& wanted, double absolute, double relative) {
  if (!wanted.is_number_float()) {
    EXPECT_EQ(got, wanted);
    return;
  }
  const double value = wanted.get<double>();
  EXPECT_NEAR(got.get<double>(), value, absolute + relative * std::abs(value));
}

/// Every field that the golden row has.
void expect_rows(const json& rows, const json& wanted, double absolute, double relative) {
  ASSERT_EQ(rows.size(), wanted.size());
  for (std::size_t at = 0; at < rows.size(); ++at) {
    for (const auto& [name, value] : wanted[at].items()) {
      SCOPED_TRACE(name + " of " + wanted[at].dump());
      expect_near(rows[at].at(name), value, absolute, relative);
    }
  }
}

class Interventions : public testing::TestWithParam<std::string> {};

TEST_P(Interventions, LensIsTransformers) {
  const json golden = intervention_golden(GetParam());
  const TempFolder folder;
  const json rows = report_of(Words{"lens"} + windows_of(golden, folder))["rows"];
  expect_rows(rows, golden["lens"], 1e-5, 1e-4);
  EXPECT_NEAR(rows.back()["loss"].get<double>(), golden["loss"].get<double>(), 1e-5);
}

TEST_P(Interventions, AblationIsTransformersWithHooks) {
  const json golden = intervention_golden(GetParam());
  const TempFolder folder;
  for (const auto& [how, wanted] : golden["ablate"].items()) {
    SCOPED_TRACE(how);
    const json rows = report_of(Words{"ablate"} + windows_of(golden, folder) +
                                Words{"--how", how, "--layers", golden["layers"]})["rows"];
    expect_rows(rows, wanted, 1e-5, 1e-4);
    EXPECT_NEAR(rows[0]["loss"].get<double>(), golden["loss"].get<double>(), 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Interventions,
                         testing::Values("shakespeare-gpt2", "shakespeare-llama", "llama",
                                         "gpt_neox", "gemma2", "mixtral"),
                         [](const auto& golden) {
                           std::string name = golden.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

class DirectLogits : public testing::TestWithParam<std::string> {};

TEST_P(DirectLogits, RaisesAreTransformers) {
  const json golden = intervention_golden(GetParam());
  const TempFolder folder;
  json rows = report_of(Words{"attention"} + windows_of(golden, folder))["rows"];
  json heads = json::array();
  for (const json& row : rows) {
    if (!row["head"].is_null()) heads.push_back(row);
  }
  expect_rows(heads, golden["raises"], 1e-5, 0);
}

TEST_P(DirectLogits, PartsAreTransformersAndSumToTheLogit) {
  const json golden = intervention_golden(GetParam());
  const json report =
      report_of({"predict", source_path(golden["model"]), "--attribution", "--tokens",
                 ids_text(golden["tokens"][0].get<std::vector<std::int64_t>>())});
  double sum = 0;
  json parts = json::array();
  for (const json& row : report["rows"]) {
    sum += row["direct"].get<double>();
    const std::string component = row["component"];
    if (component == "head" || component == "mlp") parts.push_back(row);
  }
  expect_rows(parts, golden["attribution"]["rows"], 2e-5, 0);
  const json& attributed = report["models"][0]["attributed"];
  EXPECT_NEAR(sum, attributed["logit"].get<double>(), 2e-5);
  EXPECT_NEAR(sum, golden["attribution"]["logit"].get<double>(), 2e-5);
  EXPECT_TRUE(attributed["token"].is_null());
}

INSTANTIATE_TEST_SUITE_P(Cases, DirectLogits,
                         testing::Values("shakespeare-gpt2", "shakespeare-llama", "llama"),
                         [](const auto& golden) {
                           std::string name = golden.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Attribution, OfOneTokenAgainstAnotherIsTheDifferenceOfTheirLogits) {
  const Words text = {kShakespeare, "--text", "To be, or not to"};
  const json report = report_of(Words{"predict"} + text +
                                Words{"--attribution", "--token", " be", "--against", " the"});
  double sum = 0;
  for (const json& row : report["rows"]) sum += row["direct"].get<double>();
  const json likeliest = report_of(Words{"predict"} + text + Words{"--top", "1024"})["rows"];
  double be = 0, the = 0;
  for (const json& row : likeliest) {
    if (row["text"] == " be") be = row["logit"];
    if (row["text"] == " the") the = row["logit"];
  }
  EXPECT_NEAR(sum, be - the, 2e-5);
  EXPECT_NEAR(report["models"][0]["attributed"]["logit"].get<double>(), be - the, 1e-6);
}

// ---- Prompts with an answer ---------------------------------------------------------------------

/// The golden's prompts, one a line.
std::string prompt_lines(const json& golden) {
  std::string lines;
  for (const json& prompt : golden["prompts"]) lines += prompt.dump() + "\n";
  return lines;
}

class PromptGoldens : public testing::TestWithParam<std::string> {};

TEST_P(PromptGoldens, AreTransformersWithHooks) {
  const json golden = intervention_golden(GetParam());
  const TempFolder folder;
  const Words prompts = {source_path(golden["model"]), "--prompts",
                         folder.write("prompts.jsonl", prompt_lines(golden)).string()};
  for (const auto& [how, wanted] : golden["ablate"].items()) {
    SCOPED_TRACE(how);
    const Words replaced = how == "corrupted" ? Words{} : Words{"--how", how};
    const json rows = report_of(Words{"ablate"} + prompts + replaced +
                                Words{"--layers", golden["layers"]})["rows"];
    expect_rows(rows, wanted, 1e-5, 1e-4);
    if (how != "corrupted") {
      EXPECT_TRUE(rows[0]["restored"].is_null());
    }
  }
  expect_rows(report_of(Words{"lens"} + prompts)["rows"], golden["lens"], 1e-5, 1e-4);

  const json report = report_of(Words{"predict", "--attribution"} + prompts);
  json parts = json::array();
  double sum = 0, share = 0;
  for (const json& row : report["rows"]) {
    sum += row["direct"].get<double>();
    share += row["share"].get<double>();
    if (row["component"] == "head" || row["component"] == "mlp") parts.push_back(row);
  }
  expect_rows(parts, golden["attribution"], 2e-5, 0);
  EXPECT_NEAR(sum, report["models"][0]["attributed"]["logit"].get<double>(), 2e-5);
  EXPECT_NEAR(share, 1, 1e-5);  // parts have all of it between them
}

INSTANTIATE_TEST_SUITE_P(Cases, PromptGoldens,
                         testing::Values("shakespeare-gpt2-prompts", "induction-gpt2-prompts"),
                         [](const auto& golden) {
                           return golden.param.substr(0, golden.param.find('-'));
                         });

TEST(Prompts, OfTextsAreThoseOfTheirTokens) {
  const json golden = intervention_golden("shakespeare-gpt2-prompts");
  const json rows =
      report_of({"lens", kShakespeare, "--prompts", source_path("examples/prompts.jsonl")})["rows"];
  expect_rows(rows, golden["lens"], 1e-5, 1e-4);
}

TEST(Prompts, WithoutCorruptedOnesPartsOnlyDestroy) {
  const TempFolder folder;
  const auto ablated = [&](const std::string& right, const std::string& wrong) {
    const std::string line = "{\"clean\": \"I say that thou\", \"right\": \" " + right +
                             "\", \"wrong\": \" " + wrong + "\"}\n";
    return run_attnscope({"ablate", kShakespeare, "--prompts",
                          folder.write("p.jsonl", line).string(), "--layers", "0", "--format",
                          "json"});
  };
  const json found = json::parse(ablated("art", "are").out);
  for (const json& row : found["rows"]) {
    EXPECT_EQ(row["how"], "mean");
    EXPECT_TRUE(row["destroyed"].is_number());
    EXPECT_TRUE(row["destroyed_error"].is_null());  // of one prompt
    EXPECT_TRUE(row["restored"].is_null());
    EXPECT_TRUE(row["corrupted_logit_difference"].is_null());
    EXPECT_NEAR(row["logit_difference"].get<double>(), 5.7358, 1e-3);
  }
  // Where the wrong answer is ahead, there is nothing to share, and it says so.
  const RunResult none = ablated("are", "art");
  EXPECT_TRUE(contains(none.err, "there are no shares of it")) << none.err;
  EXPECT_TRUE(json::parse(none.out)["rows"][0]["destroyed"].is_null());
}

TEST(Prompts, FaultsOfAFileNameItsLine) {
  const TempFolder folder;
  const std::string good = R"({"clean": "To be", "right": " or", "wrong": " the"})";
  const struct {
    std::string text, fault;
  } faults[] = {
      {"", "holds no prompts"},
      {"\n  \n", "holds no prompts"},
      {good + "\n{\"clean\": \"a\", \"right\": \" b\"}", "line 2: has no 'wrong'"},
      {"{\"right\": \" be\", \"wrong\": \" the\"}", "line 1: has no 'clean'"},
      {"{\"clean\": \"\", \"right\": \" be\", \"wrong\": \" the\"}", "line 1: 'clean' is empty"},
      {"[1, 2]", "line 1: is no JSON object"},
      {good + "\n\n{\"clean\": ", "line 3"},
      {"{\"clean\": \"a\xff\"}", "line 1: is not UTF-8 at byte 12"},
      {R"({"clean": "To be", "right": " shakespeares", "wrong": " the"})", "and one is asked for"},
      {R"({"clean": "To be", "right": " the", "wrong": " the"})", "are the same token"},
      {R"({"clean": "To be", "right": 5, "wrong": 5000})", "5000"},
      {R"({"clean": [1, -2], "right": 5, "wrong": 6})", "neither a text nor ids of tokens"},
      {R"({"clean": {"a": 1}, "right": 5, "wrong": 6})", "neither a text nor ids of tokens"},
      {R"({"clean": "To be", "corrupted": "To be or", "right": 5, "wrong": 6})",
       "line 1: 'clean' is 2 tokens, 'corrupted' 3"},
      {R"({"clean": "To be", "corupted": "To do", "right": 5, "wrong": 6})",
       "line 1: has 'corupted', which is none of clean, corrupted, right and wrong"},
      {good + "\n" + R"({"clean": "To be", "corrupted": "To do", "right": 5, "wrong": 6})",
       "line 2: has a 'corrupted', and line 1 has none"},
      {R"({"clean": "To be", "clean": "To do", "right": 5, "wrong": 6})", "line 1"}};
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

TEST(Prompts, WhatTheyCannotAskIsRefused) {
  const TempFolder folder;
  const std::string ids =
      folder.write("p.jsonl", "{\"clean\": [1, 2, 3], \"right\": 5, \"wrong\": 6}\n").string();
  const std::string texts = source_path("examples/prompts.jsonl");
  const struct {
    Words command;
    std::string reason;
  } refused[] = {
      {{"predict", kShakespeare, "--prompts", ids}, "--prompts: needs --attribution"},
      {{"ablate", kShakespeare, "--prompts", ids, "--how", "resample"}, "prompts are no windows"},
      {{"ablate", kShakespeare, "--prompts", ids, "--text", "To be"}, "--prompts"},
      {{"lens", data_path("forward/bert"), "--prompts", ids}, "sees texts both ways"},
      {{"lens", data_path("forward/llama-body"), "--prompts", ids}, "no logits"},
      {{"lens", data_path("stacks/vit"), "--prompts", ids}, "reads no text"},
      {{"lens", data_path("forward/llama"), "--prompts", texts}, "holds no tokenizer.json"},
      {{"predict", data_path("forward/gemma4"), "--attribution", "--prompts", ids},
       "read more than the stream"}};
  for (const auto& [command, reason] : refused) {
    SCOPED_TRACE(command_text(command));
    const RunResult run = run_attnscope(command);
    EXPECT_NE(run.exit_code, 0);
    EXPECT_TRUE(contains(run.err, reason)) << run.err;
  }
}

/// What their layers add passes norms of its own, which are held as they were.
TEST(Attribution, SumsToTheLogitWhereBranchesHaveNorms) {
  for (const char* model : {"gemma2", "gemma3", "olmo2", "exaone4"}) {
    SCOPED_TRACE(model);
    const Words text = {data_path(std::string("forward/") + model), "--tokens", "1,5,9,2,7,3"};
    // That of gemma2 notes that its logits are those before their cap.
    const json found = json::parse(
        run_attnscope(Words{"predict"} + text + Words{"--attribution", "--format", "json"}).out);
    double sum = 0;
    std::map<std::pair<std::int64_t, std::int64_t>, double> heads;
    for (const json& row : found["rows"]) {
      sum += row["direct"].get<double>();
      if (row["component"] != "head") continue;
      heads[{row["layer"].get<std::int64_t>(), row["head"].get<std::int64_t>()}] = row["direct"];
    }
    EXPECT_NEAR(sum, found["models"][0]["attributed"]["logit"].get<double>(), 2e-5);
    // The same numbers as beside what parts are worth.
    const json ablated = report_of(Words{"ablate"} + text);
    for (const json& row : ablated["rows"]) {
      if (row["component"] != "head") continue;
      EXPECT_NEAR((heads[{row["layer"].get<std::int64_t>(), row["head"].get<std::int64_t>()}]),
                  row["direct"].get<double>(), 1e-5);
    }
  }
}

TEST(Attribution, SaysWhyThereIsNone) {
  const Words asked = {"--tokens", "1,2,3", "--attribution"};
  const struct {
    std::string model, reason;
  } refused[] = {{"forward/bert", "no next tokens"},
                 {"forward/llama-body", "no output head"},
                 {"forward/gemma4", "read more than the stream"}};
  for (const auto& [model, reason] : refused) {
    SCOPED_TRACE(model);
    const RunResult run = run_attnscope(Words{"predict", data_path(model)} + asked);
    EXPECT_NE(run.exit_code, 0);
    EXPECT_TRUE(contains(run.err, reason)) << run.err;
  }
  const RunResult two = run_attnscope(
      {"predict", kShakespeare, "--text", "To be", "--attribution", "--token", "shakespeares"});
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_TRUE(contains(two.err, "and one is asked for")) << two.err;
  const RunResult joined = run_attnscope(
      {"predict", kShakespeare, "--text", "To be", "--attribution", "--token", "myself"});
  EXPECT_TRUE(contains(joined.err, "with a space before it, it is one")) << joined.err;
}

TEST(Ablate, OfOneWindowHasNoErrorAndResamplesNone) {
  const Words text = {kShakespeare, "--tokens", "1,2,3,4,5,6,7,8", "--layers", "2"};
  const json report = report_of(Words{"ablate"} + text);
  for (const json& row : report["rows"]) {
    EXPECT_TRUE(row["loss_increase_error"].is_null());
    EXPECT_TRUE(row["loss_increase"].is_number());
  }
  const RunResult run = run_attnscope(Words{"ablate"} + text + Words{"--how", "resample"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "--how: resample takes another window's")) << run.err;
}

TEST(Ablate, ModelsWhoseLayersReadMoreThanTheStreamRunWholePasses) {
  const json report = report_of({"ablate", data_path("forward/gemma4"), "--tokens",
                                 "1,2,3,4,5,6,7,8,9", "--parts", "layers", "--how", "zero"});
  const double loss =
      report_of({"predict", data_path("forward/gemma4"), "--tokens", "1,2,3,4,5,6,7,8,9",
                 "--perplexity"})["models"][0]["perplexity"]["mean_nll"];
  ASSERT_FALSE(report["rows"].empty());
  for (const json& row : report["rows"]) {
    EXPECT_NEAR(row["loss"].get<double>(), loss, 1e-6);
    EXPECT_TRUE(row["direct"].is_null());
  }
}

TEST(Ablate, AMaskedLanguageModelForetellsItsMasks) {
  const RunResult none = run_attnscope({"ablate", data_path("forward/bert"), "--tokens", "1,2,3"});
  EXPECT_NE(none.exit_code, 0);
  EXPECT_TRUE(contains(none.err, "a tokenizer with a mask")) << none.err;
}

TEST(Ablate, WhatHasNoTextOrNoLogitsIsRefused) {
  const RunResult no_text = run_attnscope({"ablate", kShakespeare});
  EXPECT_EQ(no_text.exit_code, 2);
  EXPECT_TRUE(contains(no_text.err, "--text: is needed, or --text-file")) << no_text.err;
  const RunResult short_text = run_attnscope({"lens", kShakespeare, "--tokens", "5"});
  EXPECT_EQ(short_text.exit_code, 2);
  EXPECT_TRUE(contains(short_text.err, "nothing to foretell")) << short_text.err;
  const RunResult no_head =
      run_attnscope({"lens", data_path("forward/llama-body"), "--tokens", "1,2"});
  EXPECT_NE(no_head.exit_code, 0);
  EXPECT_TRUE(contains(no_head.err, "no logits")) << no_head.err;
}

TEST(Ablate, WhatHasNoTextOfItsOwnToForetellIsRefused) {
  const struct {
    Words command;
    std::string reason;
  } refused[] = {
      {{"ablate", data_path("stacks/vit"), "--induction"}, "repeats tokens, and vit reads none"},
      {{"ablate", data_path("stacks/t5"), "--induction"}, "a source and a target"},
      {{"ablate", data_path("stacks/t5"), "--stack", "decoder", "--tokens", "1,2,3"}, "a source"},
      {{"ablate", data_path("forward/bert"), "--induction"}, "sees texts both ways"},
      {{"ablate", data_path("forward/llama-body"), "--induction"}, "no logits"},
      {{"ablate", data_path("forward/daisy_gpt2"), "--induction", "--length", "8", "--into", "1,0"},
       "reaches no later layer as it is"},
      {{"lens", data_path("stacks/wav2vec2"), "--tokens", "1,2,3"}, "reads no text"},
      {{"read", data_path("stacks/t5"), "--stack", "cross"}, "what its encoder gives"}};
  for (const auto& [command, reason] : refused) {
    SCOPED_TRACE(command_text(command));
    const RunResult run = run_attnscope(command);
    EXPECT_NE(run.exit_code, 0);
    EXPECT_TRUE(contains(run.err, reason)) << run.err;
  }
}

TEST(Ablate, IntoAHybridModelTakesOutOnlyLayersThatAttend) {
  const RunResult run =
      run_attnscope({"ablate", data_path("forward/qwen3_next"), "--induction", "--length", "8",
                     "--sequences", "1", "--into", "1,0", "--format", "json"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "layer 0 has Gated DeltaNet in place of attention")) << run.err;
  EXPECT_EQ(json::parse(run.out)["rows"], json::array());
}

TEST(Lens, OfATextIsTheModelAtItsLastState) {
  const Words text = {kShakespeare, "--text", "To be, or not to be"};
  const json report = report_of(Words{"lens"} + text + Words{"--states", "layers,mid", "--grid"});
  const json next = report_of(Words{"predict"} + text + Words{"--top", "1"})["rows"][0];
  const json& last = report["rows"].back();
  EXPECT_EQ(last["top_token"], next["token_id"]);
  EXPECT_EQ(last["probability"], next["probability"]);
  EXPECT_EQ(last["kl"], 0.0);
  EXPECT_EQ(report["models"][0]["states"].size(),
            13u);  // 6 layers, each with a middle, and the end
  const json perplexity = report_of(Words{"predict"} + text + Words{"--perplexity"});
  EXPECT_NEAR(report["models"][0]["states"].back()["loss"].get<double>(),
              perplexity["models"][0]["perplexity"]["mean_nll"].get<double>(), 1e-12);
}

TEST(Lens, WithoutSpecialTokensATextIsRunAsItIs) {
  const json with =
      report_of({"lens", kShakespeare, "--text", "To be", "--grid", "--no-special-tokens"});
  const json without = report_of({"lens", kShakespeare, "--text", "To be", "--grid"});
  EXPECT_EQ(with["rows"], without["rows"]);  // its tokenizer puts none around a text
  const RunResult both =
      run_attnscope({"lens", kShakespeare, "--tokens", "1,2", "--no-special-tokens"});
  EXPECT_EQ(both.exit_code, 2);
}

}  // namespace
}  // namespace attnscope::test
