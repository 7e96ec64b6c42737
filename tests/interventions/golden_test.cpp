// `lens`, `ablate`, `predict --attribution` and the field `attended_token_effect`, compared with
// float64 transformers with hooks (tools/golden_interventions.py).
#include <map>

#include "tests/interventions/goldens.h"

namespace attnscope::test {
namespace {

class Interventions : public testing::TestWithParam<std::string> {};

TEST_P(Interventions, LensEqualsTransformers) {
  const json golden = intervention_golden(GetParam());
  const TempFolder folder;
  const json rows = report_of(Words{"lens"} + windows_of(golden, folder))["rows"];
  expect_rows(rows, golden["lens"], 1e-5, 1e-4);
  EXPECT_NEAR(rows.back()["loss"].get<double>(), golden["loss"].get<double>(), 1e-5);
  if (!golden.contains("component_lens")) return;
  const json report =
      report_of(Words{"lens"} + windows_of(golden, folder) + Words{"--states", "attn_out,mlp_out"});
  json components = json::array();
  for (const json& row : report["rows"]) {
    if (!row["state"].get<std::string>().starts_with("resid")) components.push_back(row);
  }
  expect_rows(components, golden["component_lens"], 1e-5, 1e-4);
}

TEST(TunedLens, EqualsItsTranslatorsInTransformers) {
  const json golden = intervention_golden("llama");
  const TempFolder folder;
  const Words lens = {"--tuned-lens", data_path("tuned_lens/llama")};
  expect_rows(report_of(Words{"lens"} + windows_of(golden, folder) + lens)["rows"],
              golden["tuned_lens"], 1e-5, 1e-4);
}

TEST_P(Interventions, AblationEqualsTransformersWithHooks) {
  const json golden = intervention_golden(GetParam());
  const TempFolder folder;
  for (const auto& [how, wanted] : golden["ablate"].items()) {
    SCOPED_TRACE(how);
    const json rows = report_of(Words{"ablate"} + windows_of(golden, folder) +
                                Words{"--ablation", how, "--layers", golden["layers"]})["rows"];
    expect_rows(rows, wanted, 1e-5, 1e-4);
    EXPECT_NEAR(rows[0]["loss"].get<double>(), golden["loss"].get<double>(), 1e-5);
  }
}

TEST_P(Interventions, AblationOfHeadSetsEqualsTransformersWithHooks) {
  const json golden = intervention_golden(GetParam());
  const TempFolder folder;
  for (const auto& [how, wanted] : golden["head_sets"].items()) {
    SCOPED_TRACE(how);
    const json rows = report_of(Words{"ablate"} + windows_of(golden, folder) +
                                Words{"--ablation", how, "--heads", wanted[0]["heads"]})["rows"];
    expect_rows(rows, wanted, 1e-5, 1e-4);
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

TEST_P(DirectLogits, AttendedTokenEffectEqualsTransformers) {
  const json golden = intervention_golden(GetParam());
  const TempFolder folder;
  json rows = report_of(Words{"attention"} + windows_of(golden, folder))["rows"];
  json heads = json::array();
  for (const json& row : rows) {
    if (!row["head"].is_null()) heads.push_back(row);
  }
  expect_rows(heads, golden["attended_token_effect"], 1e-5, 0);
}

TEST_P(DirectLogits, ComponentsEqualTransformersAndSumToTheLogit) {
  const json golden = intervention_golden(GetParam());
  const json report =
      report_of({"predict", source_path(golden["model"]), "--attribution", "--tokens",
                 ids_text(golden["tokens"][0].get<std::vector<std::int64_t>>())});
  double sum = 0;
  json parts = json::array();
  for (const json& row : report["rows"]) {
    sum += row["direct_effect"].get<double>();
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

TEST(Attribution, OneTokenAgainstAnotherIsTheirLogitDifference) {
  const Words text = {kShakespeare, "--text", "To be, or not to"};
  const json report = report_of(Words{"predict"} + text +
                                Words{"--attribution", "--token", " be", "--against", " the"});
  double sum = 0;
  for (const json& row : report["rows"]) sum += row["direct_effect"].get<double>();
  const json most_likely = report_of(Words{"predict"} + text + Words{"--top", "1024"})["rows"];
  double be = 0, the = 0;
  for (const json& row : most_likely) {
    if (row["text"] == " be") be = row["logit"];
    if (row["text"] == " the") the = row["logit"];
  }
  EXPECT_NEAR(sum, be - the, 2e-5);
  EXPECT_NEAR(report["models"][0]["attributed"]["logit"].get<double>(), be - the, 1e-6);
}

/// In these models, component outputs pass norms of their own, whose scales are frozen.
TEST(Attribution, SumsToTheLogitWithNormsOnComponentOutputs) {
  for (const char* model : {"gemma2", "gemma3", "olmo2", "exaone4"}) {
    SCOPED_TRACE(model);
    const Words text = {data_path(std::string("forward/") + model), "--tokens", "1,5,9,2,7,3"};
    // gemma2 notes that its logits are those before the softcap.
    const json found = json::parse(
        run_attnscope(Words{"predict"} + text + Words{"--attribution", "--format", "json"}).out);
    double sum = 0;
    std::map<std::pair<std::int64_t, std::int64_t>, double> heads;
    for (const json& row : found["rows"]) {
      sum += row["direct_effect"].get<double>();
      if (row["component"] != "head") continue;
      heads[{row["layer"].get<std::int64_t>(), row["head"].get<std::int64_t>()}] =
          row["direct_effect"];
    }
    EXPECT_NEAR(sum, found["models"][0]["attributed"]["logit"].get<double>(), 2e-5);
    // `ablate` reports the same direct effects.
    const json ablated = report_of(Words{"ablate"} + text);
    for (const json& row : ablated["rows"]) {
      if (row["component"] != "head") continue;
      EXPECT_NEAR((heads[{row["layer"].get<std::int64_t>(), row["head"].get<std::int64_t>()}]),
                  row["direct_effect"].get<double>(), 1e-5);
    }
  }
}

TEST(Attribution, StatesWhyItIsNotPossible) {
  const Words asked = {"--tokens", "1,2,3", "--attribution"};
  const struct {
    std::string model, reason;
  } refused[] = {{"forward/bert", "does not predict next tokens"},
                 {"forward/llama-body", "no LM head"},
                 {"forward/gemma4", "inputs other than the residual stream"}};
  for (const auto& [model, reason] : refused) {
    SCOPED_TRACE(model);
    const RunResult run = run_attnscope(Words{"predict", data_path(model)} + asked);
    EXPECT_NE(run.exit_code, 0);
    EXPECT_TRUE(contains(run.err, reason)) << run.err;
  }
  const RunResult two = run_attnscope(
      {"predict", kShakespeare, "--text", "To be", "--attribution", "--token", "shakespeares"});
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_TRUE(contains(two.err, "expected one token: 's' (id 83), ")) << two.err;
  const RunResult joined = run_attnscope(
      {"predict", kShakespeare, "--text", "To be", "--attribution", "--token", "myself"});
  EXPECT_TRUE(contains(joined.err, "with a leading space it is one token")) << joined.err;
}

TEST(Ablate, OneWindowHasNoErrorAndCannotBeResampled) {
  const Words text = {kShakespeare, "--tokens", "1,2,3,4,5,6,7,8", "--layers", "2"};
  const json report = report_of(Words{"ablate"} + text);
  for (const json& row : report["rows"]) {
    EXPECT_TRUE(row["loss_increase_error"].is_null());
    EXPECT_TRUE(row["loss_increase"].is_number());
  }
  const RunResult run = run_attnscope(Words{"ablate"} + text + Words{"--ablation", "resample"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "--ablation: resample requires at least two windows")) << run.err;
}

TEST(Ablate, ModelsWithOtherLayerInputsRunWholePasses) {
  const json report =
      report_of({"ablate", data_path("forward/gemma4"), "--tokens", "1,2,3,4,5,6,7,8,9",
                 "--components", "layers", "--ablation", "zero"});
  const double loss =
      report_of({"predict", data_path("forward/gemma4"), "--tokens", "1,2,3,4,5,6,7,8,9",
                 "--perplexity"})["models"][0]["perplexity"]["mean_nll"];
  ASSERT_FALSE(report["rows"].empty());
  for (const json& row : report["rows"]) {
    EXPECT_NEAR(row["loss"].get<double>(), loss, 1e-6);
    EXPECT_TRUE(row["direct_effect"].is_null());
  }
}

TEST(Ablate, AMaskedLanguageModelPredictsItsMasks) {
  const RunResult none = run_attnscope({"ablate", data_path("forward/bert"), "--tokens", "1,2,3"});
  EXPECT_NE(none.exit_code, 0);
  EXPECT_TRUE(contains(none.err, "its tokenizer has no mask token")) << none.err;
}

/// The tokenizer of LLaDA does not name its mask token, but its config does.
TEST(BidirectionalModels, TakesTheMaskTokenFromTheConfig) {
  const TempFolder folder;
  std::filesystem::copy(data_path("forward/llada"), folder.path(),
                        std::filesystem::copy_options::recursive);
  const Words command = {"lens", folder.path().string(), "--tokens", "1,2,3,4,5"};
  EXPECT_TRUE(contains(run_attnscope(command).err, "no mask token"));
  json config = json::parse(read_file(folder.path() / "config.json"));
  config["mask_token_id"] = 4;
  folder.write("config.json", config.dump());
  const json report = report_of(command);
  EXPECT_FALSE(report["rows"].empty());
}

TEST(Ablate, RejectsMissingTextsAndMissingLogits) {
  const RunResult no_text = run_attnscope({"ablate", kShakespeare});
  EXPECT_EQ(no_text.exit_code, 2);
  EXPECT_TRUE(contains(no_text.err, "--text: missing input text (pass --text, --text-file"))
      << no_text.err;
  const RunResult short_text = run_attnscope({"lens", kShakespeare, "--tokens", "5"});
  EXPECT_EQ(short_text.exit_code, 2);
  EXPECT_TRUE(contains(short_text.err, "nothing to predict")) << short_text.err;
  const RunResult no_head =
      run_attnscope({"lens", data_path("forward/llama-body"), "--tokens", "1,2"});
  EXPECT_NE(no_head.exit_code, 0);
  EXPECT_TRUE(contains(no_head.err, "no logits")) << no_head.err;
}

TEST(Ablate, RejectsModelsWithoutATextToPredict) {
  const struct {
    Words command;
    std::string reason;
  } refused[] = {
      {{"ablate", data_path("stacks/vit"), "--induction"},
       "requires token inputs, which vit does not have"},
      {{"ablate", data_path("stacks/t5"), "--induction"}, "a source and a target"},
      {{"ablate", data_path("stacks/t5"), "--stack", "decoder", "--tokens", "1,2,3"}, "--target"},
      {{"ablate", data_path("stacks/t5"), "--stack", "decoder", "--tokens", "1,2,3",
        "--target-tokens", "0,1,2", "--ablation", "resample"},
       "--ablation: resample requires at least two pairs"},
      {{"ablate", data_path("forward/bert"), "--induction"}, "is bidirectional"},
      {{"ablate", data_path("forward/llama-body"), "--induction"}, "no logits"},
      {{"ablate", data_path("forward/daisy_gpt2"), "--induction", "--length", "8", "--receiver",
        "1,0"},
       "do not reach later layers unchanged"},
      {{"lens", data_path("stacks/wav2vec2"), "--tokens", "1,2,3"}, "does not take text"},
      {{"directions", data_path("stacks/t5"), "--stack", "cross"}, "reads encoder outputs"}};
  for (const auto& [command, reason] : refused) {
    SCOPED_TRACE(command_text(command));
    const RunResult run = run_attnscope(command);
    EXPECT_NE(run.exit_code, 0);
    EXPECT_TRUE(contains(run.err, reason)) << run.err;
  }
}

TEST(Ablate, ReceiverAblatesOnlyAttentionLayersOfHybridModels) {
  const RunResult run =
      run_attnscope({"ablate", data_path("forward/qwen3_next"), "--induction", "--length", "8",
                     "--sequences", "1", "--receiver", "1,0", "--format", "json"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "layer 0 has Gated DeltaNet")) << run.err;
  EXPECT_EQ(json::parse(run.out)["rows"], json::array());
}

TEST(Lens, TheLastStateEqualsTheModel) {
  const Words text = {kShakespeare, "--text", "To be, or not to be"};
  const json report =
      report_of(Words{"lens"} + text + Words{"--states", "resid_pre,resid_mid", "--grid"});
  const json next = report_of(Words{"predict"} + text + Words{"--top", "1"})["rows"][0];
  const json& last = report["rows"].back();
  EXPECT_EQ(last["top_token"], next["token_id"]);
  EXPECT_EQ(last["probability"], next["probability"]);
  EXPECT_EQ(last["kl"], 0.0);
  EXPECT_EQ(report["models"][0]["states"].size(),
            13u);  // 6 layers, each with resid_pre and resid_mid, and the last resid_post
  const json perplexity = report_of(Words{"predict"} + text + Words{"--perplexity"});
  EXPECT_NEAR(report["models"][0]["states"].back()["loss"].get<double>(),
              perplexity["models"][0]["perplexity"]["mean_nll"].get<double>(), 1e-12);
}

/// The tokens of the last state equal those of `predict`. The first token of each list equals the
/// one without the list, and all other fields are unchanged.
TEST(Lens, ListsTheMostLikelyTokensOfEveryState) {
  const Words grid = {"lens", kShakespeare, "--text", "To be, or not to be", "--grid"};
  const json one = report_of(grid), three = report_of(grid + Words{"--top", "3"});
  EXPECT_FALSE(one["parameters"].contains("top"));
  EXPECT_EQ(three["parameters"]["top"], 3);
  EXPECT_EQ(report_of(grid + Words{"--top", "1"}), one);
  ASSERT_EQ(three["rows"].size(), one["rows"].size());
  for (std::size_t at = 0; at < one["rows"].size(); ++at) {
    json row = three["rows"][at];
    const json top = row["top_tokens"];
    ASSERT_EQ(top.size(), 3u);
    EXPECT_EQ(top[0]["token_id"], row["top_token"]);
    EXPECT_EQ(top[0]["text"], row["top_text"]);
    EXPECT_EQ(top[0]["probability"], row["probability"]);
    EXPECT_GE(top[0]["logit"].get<double>(), top[1]["logit"].get<double>());
    EXPECT_GE(top[1]["probability"].get<double>(), top[2]["probability"].get<double>());
    row.erase("top_tokens");
    EXPECT_EQ(row, one["rows"][at]);
  }
  const json next =
      report_of({"predict", kShakespeare, "--text", "To be, or not to be", "--top", "3"})["rows"];
  const json last = three["rows"].back()["top_tokens"];
  for (std::size_t rank = 0; rank < 3; ++rank) {
    for (const char* field : {"token_id", "text", "logit", "probability"}) {
      EXPECT_EQ(last[rank][field], next[rank][field]) << field;
    }
  }
  EXPECT_NE(output_of(grid + Words{"--top", "3"}), output_of(grid));
  expect_refusal({"lens", kShakespeare, "--text", "To be", "--top", "3"}, kUsage,
                 {"--top", "--grid"});
  expect_refusal(grid + Words{"--top", "0"}, kUsage, {"--top"});
}

TEST(Lens, NoSpecialTokensChangesNothingWithoutSpecialTokens) {
  const json with =
      report_of({"lens", kShakespeare, "--text", "To be", "--grid", "--no-special-tokens"});
  const json without = report_of({"lens", kShakespeare, "--text", "To be", "--grid"});
  EXPECT_EQ(with["rows"], without["rows"]);  // its tokenizer adds no special tokens
  const RunResult both =
      run_attnscope({"lens", kShakespeare, "--tokens", "1,2", "--no-special-tokens"});
  EXPECT_EQ(both.exit_code, 2);
}

}  // namespace
}  // namespace attnscope::test
