// `ablate --patch-positions` and `ablate --sender`, compared with PyTorch hooks on transformers in
// float64 (tools/golden_patching.py, tools/golden_paths.py), and their errors.
#include <algorithm>
#include <map>
#include <tuple>

#include "tests/interventions/goldens.h"

namespace attnscope::test {
namespace {

std::string prompt_lines(const json& prompts) {
  std::string lines;
  for (const json& prompt : prompts) lines += prompt.dump() + "\n";
  return lines;
}

/// Compares the changes of the metric and the shares, each followed by its error. Float32 passes
/// differ from float64 by 2e-6 of the logits, which are about 1; shares divide by a gap of at least
/// 0.1 of that.
void expect_effects(const json& row, const json& wanted) {
  for (const char* name : {"denoising", "noising"}) {
    SCOPED_TRACE(name + row.dump() + wanted.dump());
    std::size_t at = 0;
    for (const char* part : {"_change", "_change_error", "_effect", "_effect_error"}) {
      expect_near(row[name + std::string(part)], wanted[name][at++], 1e-5, 1e-4);
    }
  }
}

class PatchedPositions : public testing::TestWithParam<std::string> {};

TEST_P(PatchedPositions, EqualTransformersWithHooks) {
  const json golden = intervention_golden("patching-" + GetParam());
  const TempFolder folder;
  const std::string prompts = folder.write("prompts.jsonl", prompt_lines(golden["prompts"]));
  for (const json& run : golden["runs"]) {
    std::string components;
    using Place = std::tuple<std::int64_t, std::string, json, json>;
    std::map<Place, json> wanted;
    const bool together = run["patch_positions"] == "all";
    for (const json& row : run["rows"]) {
      const std::string component = row["component"];
      wanted[{row["layer"], component, row["head"], together ? json() : row["positions"][0]}] = row;
      const std::string name = component == "head" ? "heads" : component;
      if (!contains("," + components + ",", "," + name + ",")) {
        components += (components.empty() ? "" : ",") + name;
      }
    }
    Words words = {"ablate",
                   "--quiet",
                   source_path(golden["model"]),
                   "--prompts",
                   prompts,
                   "--components",
                   components,
                   "--metric",
                   run["metric"],
                   "--patch-positions",
                   run["patch_positions"],
                   "--layers",
                   run["layers"]};
    if (run["score_positions"] != "last") {
      words = words + Words{"--score-positions", run["score_positions"]};
    }
    // A gap that is not clear gives a note.
    const json rows = json::parse(run_attnscope(words + Words{"--format", "json"}).out)["rows"];
    ASSERT_EQ(rows.size(), wanted.size());
    for (const json& row : rows) {
      expect_effects(row,
                     wanted.at({row["layer"], row["component"], row["head"], row["position"]}));
      expect_near(row["clean_metric"], run["clean"], 1e-5, 1e-4);
      expect_near(row["corrupted_metric"], run["corrupted"], 1e-5, 1e-4);
      EXPECT_EQ(row["prompts"], golden["prompts"].size());
    }
  }
}

std::string case_name(const testing::TestParamInfo<std::string>& golden) { return golden.param; }

// GPT-2, grouped queries, norms on branches, parallel blocks, norms of queries, experts, MLA,
// hybrids, and a model whose layers share keys and values.
INSTANTIATE_TEST_SUITE_P(Cases, PatchedPositions,
                         testing::Values("gpt2", "llama", "gemma2", "gpt_neox", "cohere", "qwen3",
                                         "mixtral", "deepseek_v3", "falcon_h1", "qwen3_next",
                                         "gemma3n"),
                         case_name);

class PatchedPaths : public testing::TestWithParam<std::string> {};

TEST_P(PatchedPaths, EqualThreeRunsOfTransformersWithHooks) {
  const json golden = intervention_golden("paths-" + GetParam());
  const TempFolder folder;
  const std::string prompts = folder.write("prompts.jsonl", prompt_lines(golden["prompts"]));
  for (const json& run : golden["runs"]) {
    for (const json& wanted : run["rows"]) {
      Words words = {"ablate",         "--quiet",    source_path(golden["model"]),
                     "--prompts",      prompts,      "--sender",
                     wanted["sender"], "--receiver", wanted["receiver"]};
      for (const std::string option : run["options"]) {
        words = words + Words{option == "through_mlps" ? "--through-mlps" : "--freeze-norms"};
      }
      const json rows = report_of(words)["rows"];
      ASSERT_EQ(rows.size(), 1u);
      EXPECT_EQ(rows[0]["receiver"], wanted["receiver"]);
      expect_effects(rows[0], wanted);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, PatchedPaths,
                         testing::Values("gpt2", "llama", "gemma2", "gpt_neox", "cohere", "qwen3"),
                         case_name);

const Words kSameLength = {"ablate", kShakespeare, "--prompts"};
constexpr const char* kTwoPrompts =
    R"({"clean": "I say that thou", "corrupted": "I say that you", "correct": " art", "incorrect": " are"}
{"clean": "We know that thou", "corrupted": "We know that you", "correct": " art", "incorrect": " are"}
)";

TEST(Patching, OnlyDifferingTokensHaveEffects) {
  const TempFolder folder;
  const std::string prompts = folder.write("prompts.jsonl", kTwoPrompts);
  const json rows = report_of(kSameLength + Words{prompts, "--quiet", "--patch-positions", "each",
                                                  "--components", "resid_pre,heads"})["rows"];
  ASSERT_EQ(rows.size(), 6u * 7u * 4u);
  for (const json& row : rows) {
    if (row["position"] == 3) {
      EXPECT_EQ(row["token"], " thou");
      if (row["component"] == "resid_pre") {
        EXPECT_NEAR(row["denoising_effect"].get<double>(), 1, 1e-5);
        EXPECT_NEAR(row["noising_effect"].get<double>(), 1, 1e-5);
      }
    } else {
      EXPECT_EQ(row["denoising_change"], 0.0);
      EXPECT_EQ(row["noising_change"], 0.0);
    }
  }
}

TEST(Patching, AllPositionsTogetherEqualTheComponentsOfPrompts) {
  const json together = report_of({"ablate", "--quiet", kShakespeare, "--prompts",
                                   source_path("examples/prompts.jsonl"), "--patch-positions",
                                   "all", "--components", "all"})["rows"];
  const json components = report_of({"ablate", "--quiet", kShakespeare, "--prompts",
                                     source_path("examples/prompts.jsonl")})["rows"];
  std::size_t compared = 0;
  for (const json& row : together) {
    for (const json& other : components) {
      if (row["layer"] != other["layer"] || row["head"] != other["head"] ||
          row["component"] != other["component"]) {
        continue;
      }
      ++compared;
      EXPECT_TRUE(row["position"].is_null());
      for (const char* name : {"denoising_effect", "noising_effect"}) {
        EXPECT_NEAR(row[name].get<double>(), other[name].get<double>(), 1e-5);
      }
    }
  }
  EXPECT_EQ(compared, components.size());
}

TEST(Patching, LabelsAlignPromptsOfDifferentLengths) {
  const TempFolder folder;
  const std::string labeled = folder.write(
      "labeled.jsonl",
      R"({"clean": "I say that thou", "corrupted": "I say that you", "correct": " art", "incorrect": " are", "positions": {"subject": 3, "rest": [0, 1]}}
{"clean": "O king, thou", "corrupted": "O king, you", "correct": " hast", "incorrect": " have", "positions": {"subject": -1, "rest": [0, 1]}}
)");
  const json rows = report_of(kSameLength + Words{labeled, "--quiet", "--patch-positions", "each",
                                                  "--components", "resid_pre"})["rows"];
  ASSERT_EQ(rows.size(), 12u);
  EXPECT_EQ(rows[0]["token"], "rest");
  EXPECT_EQ(rows[0]["denoising_change"], 0.0);
  EXPECT_EQ(rows[1]["token"], "subject");
  EXPECT_TRUE(rows[1]["position"].is_null());
  EXPECT_NEAR(rows[1]["denoising_effect"].get<double>(), 1, 1e-5);
}

TEST(Patching, SharesAreNullWithoutAClearGap) {
  const TempFolder folder;
  const std::string prompts = folder.write(
      "unclear.jsonl",
      R"({"clean": "I say that thou", "corrupted": "I say that you", "correct": " art", "incorrect": " are"}
{"clean": "I say that you", "corrupted": "I say that thou", "correct": " art", "incorrect": " are"}
)");
  const RunResult run =
      run_attnscope(kSameLength + Words{prompts, "--metric", "logit-difference", "--components",
                                        "resid_pre", "--format", "json"});
  const json row = json::parse(run.out)["rows"][0];
  EXPECT_TRUE(row["denoising_effect"].is_null());
  EXPECT_TRUE(row["denoising_change"].is_number());
  EXPECT_TRUE(contains(run.err, "within two standard errors of 0")) << run.err;
}

TEST(Patching, RefusesWhatItCannotAlignOrScore) {
  const TempFolder folder;
  const std::string prompts = folder.write("prompts.jsonl", kTwoPrompts);
  const std::string lengths = folder.write("lengths.jsonl", R"(
{"clean": "I say that thou", "corrupted": "I say that you", "correct": " art", "incorrect": " are"}
{"clean": "O king, thou", "corrupted": "O king, you", "correct": " hast", "incorrect": " have"}
{"clean": "and he", "corrupted": "and they", "correct": " is", "incorrect": " are"}
)");
  const struct {
    Words words;
    std::string problem;
  } refused[] = {
      {{lengths, "--patch-positions", "each"}, "differ in length"},
      {{lengths, "--patch-positions", "1-"}, "do not correspond"},
      {{prompts, "--patch-positions", "9"}, "past the end of a prompt"},
      {{prompts, "--patch-positions", "some"}, "not a list of positions"},
      {{prompts, "--score-positions", "2"}, "requires"},
      {{prompts, "--metric", "probability", "--score-positions", "2"}, "the answer alone"},
      {{prompts, "--metric", "loss", "--score-positions", "0"}, "no predicted token"},
      {{prompts, "--sender", "L0H9"}, "has heads 0 to 5"},
      {{prompts, "--sender", "zero"}, "is not a head"},
      {{prompts, "--sender", "L2H0", "--receiver", "L2H1.q"}, "not in a layer after the senders"},
      {{prompts, "--sender", "L2H0", "--receiver", "L3H1,L4H0.q"}, "need inputs"},
      {{prompts, "--sender", "L2H0", "--receiver", "L3H1.q,logits"}, "cannot be combined"},
      {{prompts, "--receiver", "L3H1.q"}, "requires --sender"},
  };
  for (const auto& [words, problem] : refused) {
    const RunResult run = run_attnscope(kSameLength + words);
    EXPECT_EQ(run.exit_code, 2) << problem;
    EXPECT_TRUE(contains(run.err, problem)) << run.err;
  }
  const RunResult text =
      run_attnscope({"ablate", kShakespeare, "--text", "To be", "--components", "q"});
  EXPECT_TRUE(contains(text.err, "require --prompts")) << text.err;
}

/// The prompts of an induction task: a random block and its repeated beginning. In corrupted
/// prompts, the predecessors of both answers are swapped in the block, so that the other answer
/// follows.
json induction_prompts() {
  json prompts = intervention_golden("induction-gpt2-prompts")["prompts"];
  for (json& prompt : prompts) {
    auto tokens = prompt["clean"].get<std::vector<std::int64_t>>();
    const auto before = [&](const char* answer) {
      return std::ranges::find(tokens, prompt[answer].get<std::int64_t>()) - 1;
    };
    std::iter_swap(before("correct"), before("incorrect"));
    prompt["corrupted"] = tokens;
  }
  return prompts;
}

TEST(Paths, SendersAreOfTheSelectedLayers) {
  const TempFolder folder;
  const std::string file = folder.write("prompts.jsonl", prompt_lines(induction_prompts()));
  const Words command = {"ablate",    "--quiet", source_path("examples/induction-gpt2"),
                         "--prompts", file,      "--layers",
                         "1",         "--sender"};
  const json report = report_of(command + Words{"each-head"});
  EXPECT_EQ(report["parameters"]["layers"], "1");
  EXPECT_FALSE(report["rows"].empty());
  for (const json& row : report["rows"])
    EXPECT_TRUE(row["sender"].get<std::string>().starts_with("L1H"));
  expect_refusal(command + Words{"L0H1"}, kUsage,
                 {"--layers: requires --sender each-layer or each-head"});
}

/// Heads that attend to the previous token reach induction heads through their keys. The strongest
/// one also composes most by its weights.
TEST(Paths, FindTheInductionCircuit) {
  const TempFolder folder;
  const json prompts = induction_prompts();
  const std::string file = folder.write("prompts.jsonl", prompt_lines(prompts));
  const Words command = {"ablate",    "--quiet", source_path("examples/induction-gpt2"),
                         "--prompts", file,      "--sender"};
  std::map<std::string, double> layers;
  const json of_layers = report_of(command + Words{"each-layer"})["rows"];
  for (const json& row : of_layers) {
    if (row["sender"] == "layer 0") layers[row["receiver"]] = row["denoising_effect"];
  }
  EXPECT_GT(layers.at("layer 1.k"), 0.9);
  for (const char* other : {"layer 1.q", "layer 1.v", "logits"}) {
    EXPECT_LT(std::abs(layers.at(other)), 0.05) << other;
  }

  json strongest, composing;
  const json of_heads = report_of(command + Words{"each-head"})["rows"];
  for (const json& row : of_heads) {
    if (row["receiver"] != "L1H1.k") continue;
    if (strongest.is_null() || row["denoising_effect"] > strongest["denoising_effect"]) {
      strongest = row;
    }
    if (composing.is_null() || row["composition"] > composing["composition"]) composing = row;
  }
  const std::string text = ids_text(prompts[0]["clean"].get<std::vector<std::int64_t>>());
  json looks_back;
  const json maps =
      report_of({"attention", source_path("examples/induction-gpt2"), "--tokens", text})["rows"];
  for (const json& row : maps) {
    if (row["layer"] != 0 || row["head"].is_null()) continue;
    if (looks_back.is_null() || row["previous_token"] > looks_back["previous_token"]) {
      looks_back = row;
    }
  }
  EXPECT_EQ(strongest["sender"], "L0H" + looks_back["head"].dump());
  EXPECT_EQ(composing["sender"], strongest["sender"]);
}

}  // namespace
}  // namespace attnscope::test
