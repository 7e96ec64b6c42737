// Plans of encoder-decoders, one stack at a time, measured by the loss of the decoder.
#include <map>
#include <nlohmann/json.hpp>

#include "attnscope/base/text.h"
#include "tests/features/plan/plan_case.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

class PlanOfEncoderDecoders : public PlanCase {
 protected:
  PlanOfEncoderDecoders() {
    for (const char* name : {"t5", "bart"}) {
      fs::copy(data_path(std::string("encoder_decoders/") + name), scratch_.path() / name);
      fs::permissions(scratch_.path() / name, fs::perms::owner_all);
      scratch_.write(std::string(name) + "/tokenizer.json", tokenizer());
    }
    std::string sources, targets;
    for (int line = 0; line < 40; ++line) {
      sources += word(line) + " " + word(3 * line) + " " + word(7 * line + 1) + "\n";
      targets += word(5 * line) + " " + word(line + 2) + " " + word(line) + "\n";
    }
    text_ = scratch_.write("sources.txt", sources).string();
    targets_ = scratch_.write("targets.txt", targets).string();
  }

  static std::string word(int number) { return "w" + std::to_string(2 + number % 20); }

  static std::string tokenizer() {
    json vocabulary = {{"<s>", 0}, {"</s>", 1}};
    for (int at = 0; at < 20; ++at) vocabulary[word(at)] = at + 2;
    const json tokenizer = {
        {"version", "1.0"},
        {"added_tokens", json::array()},
        {"pre_tokenizer", {{"type", "Whitespace"}}},
        {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "<s>"}}}};
    return tokenizer.dump();
  }

  Words with_texts(Words words) const {
    words.insert(words.end(),
                 {"--calibration-file", text_, "--calibration-target-file", targets_, "--quiet"});
    return words;
  }

  void expect(const Words& words, int code, const std::string& says) const {
    const RunResult run = run_attnscope(words);
    EXPECT_EQ(run.exit_code, code) << run.err;
    EXPECT_TRUE(contains(run.err, says)) << run.err;
  }

  std::string targets_;
};

TEST_F(PlanOfEncoderDecoders, WrittenModelEqualsThePlan) {
  for (const std::string name : {"t5", "bart"}) {
    for (const std::string stack : {"encoder", "decoder"}) {
      for (const std::string set : {"remove-layers=0", "mlp=10", "low-rank=0.q:3,1.up:5"}) {
        const std::string out = name + stack + set, model = path(name) + ":" + stack;
        output_of(with_texts({"plan", model, "--set", set, "-o", path("plan.json")}));
        const json made = json::parse(output_of(with_texts(
            {"shrink", path(name), path("plan.json"), "-o", path(out), "--format", "json"})));
        const json plan = json::parse(read_file(path("plan.json")))["models"][0];
        const json shrunk = made["models"][0]["compressed"];
        EXPECT_EQ(plan["stack"], stack);
        EXPECT_NEAR(shrunk["mean_nll"].get<double>(), plan["plan"]["mean_nll_after"].get<double>(),
                    1e-4)
            << out;
        EXPECT_NE(plan["plan"]["mean_nll_after"], plan["plan"]["mean_nll_before"]) << out;
        if (!set.starts_with("low-rank")) {
          EXPECT_EQ(shrunk["parameters"], plan["plan"]["parameters_after"]) << out;
        }
        // The other stack is unchanged.
        const json info = json::parse(output_of({"info", path(out), "--format", "json"}));
        for (const json& other : info["models"]) {
          if (set != "remove-layers=0" || other["stack"] == "cross") continue;
          const json before = json::parse(output_of({"info", path(name), "--format", "json"}));
          for (const json& was : before["models"]) {
            if (was["stack"] != other["stack"]) continue;
            const int gone = other["stack"] == stack ? 1 : 0;
            EXPECT_EQ(other["layers"].get<int>() + gone, was["layers"].get<int>()) << out;
          }
        }
      }
    }
  }
}

/// Compared with the losses on the last tenth of the pairs, at the same target tokens.
TEST_F(PlanOfEncoderDecoders, ScoresSelectedTargetTokens) {
  const auto last_lines = [&](const std::string& file) {
    const std::vector<std::string> lines = split(read_file(file), '\n');
    std::string text;
    for (std::size_t line = 36; line < 40; ++line) text += lines[line] + "\n";
    return text;
  };
  const std::string sources = scratch_.write("last_sources.txt", last_lines(text_)).string();
  const std::string targets = scratch_.write("last_targets.txt", last_lines(targets_)).string();
  const Words at = {"--score-positions", "2-"};
  const json held = report_of(Words{"predict", path("t5") + ":decoder", "--text-file", sources,
                                    "--target-file", targets, "--perplexity"} +
                              at);
  for (const char* stack : {":encoder", ":decoder"}) {
    const json plan = report_of(with_texts(
        Words{"plan", path("t5") + stack, "--method", "low-rank", "--keep", "0.8"} + at));
    EXPECT_NEAR(plan["models"][0]["plan"]["mean_nll_before"].get<double>(),
                held["models"][0]["perplexity"]["mean_nll"].get<double>(), 1e-5)
        << stack;
    EXPECT_EQ(plan["parameters"]["score_positions"], "2-");
  }
  expect(with_texts({"plan", path("t5") + ":decoder", "--lines"}), kUsage,
         "--lines: has no effect: pairs are already lines");
  expect(with_texts({"plan", path("t5") + ":decoder", "--score-positions", "9"}), kUsage,
         "past the end of every example");
}

// T5's config has one intermediate size for both stacks, so a plan lists the layers of both.
TEST_F(PlanOfEncoderDecoders, PlansTheSharedMlpSizeFromEitherStack) {
  std::map<std::string, json> kept;
  for (const std::string stack : {"encoder", "decoder"}) {
    const json plan = json::parse(output_of(
        with_texts({"plan", path("t5") + ":" + stack, "--set", "mlp=10", "--format", "json"})));
    const json& facts = plan["models"][0]["plan"];
    EXPECT_EQ(plan["rows"][0]["model"], "t5:" + stack);
    for (const json& row : plan["rows"]) {
      const std::string model = row["model"];
      kept[stack][model].push_back(row["kept"]);
      EXPECT_EQ(row["layer"], kept[stack][model].size() - 1);
      EXPECT_EQ(row["kept"].size(), 10U);
    }
    kept[stack]["loss"] = facts["mean_nll_after"];
    EXPECT_EQ(kept[stack].size(), 3U);
  }
  EXPECT_EQ(kept["encoder"], kept["decoder"]);
}

/// The last tenth of the pairs, once held out and once from separate files.
TEST_F(PlanOfEncoderDecoders, MeasuresOnSeparateEvaluationPairs) {
  const auto head_and_tail = [&](const std::string& file, const std::string& name) {
    const std::vector<std::string> lines = split(read_file(file), '\n');
    std::string head, tail;
    for (std::size_t at = 0; at < 40; ++at) (at < 36 ? head : tail) += lines[at] + "\n";
    scratch_.write(name + "-tail.txt", tail);
    return scratch_.write(name + "-head.txt", head).string();
  };
  const std::string sources = head_and_tail(text_, "sources");
  const std::string targets = head_and_tail(targets_, "targets");
  const Words held = {"--calibration-file",
                      sources,
                      "--calibration-target-file",
                      targets,
                      "--eval-file",
                      path("sources-tail.txt"),
                      "--eval-target-file",
                      path("targets-tail.txt"),
                      "--quiet"};
  const auto with_held = [&](Words words) {
    words.insert(words.end(), held.begin(), held.end());
    return words;
  };
  const Words words = {"plan", path("bart") + ":decoder", "--set", "mlp=10", "--format", "json"};
  const json one = json::parse(output_of(with_texts(words)));
  const json two = json::parse(output_of(with_held(words)));
  EXPECT_EQ(one["models"][0]["plan"], two["models"][0]["plan"]);
  EXPECT_EQ(two["parameters"]["eval_file"], "sources-tail.txt");
  output_of(
      with_held({"plan", path("bart") + ":decoder", "--set", "mlp=10", "-o", path("held.json")}));
  output_of(with_held({"shrink", path("bart"), path("held.json"), "-o", path("held")}));
  expect(with_texts({"plan", path("bart") + ":decoder", "--eval-file", sources}), 2,
         "--eval-target-file: missing evaluation targets");
  expect(with_texts({"plan", path("bart") + ":decoder", "--eval-target-file", targets}), 2,
         "--eval-file: missing evaluation sources");
}

TEST_F(PlanOfEncoderDecoders, RejectsInvalidRequests) {
  const std::string t5 = path("t5");
  expect(with_texts({"plan", t5}), 2, "MODEL:encoder");
  expect(with_texts({"plan", t5 + ":cross"}), 5, "cannot be planned alone");
  expect({"plan", t5 + ":decoder", "--calibration-file", text_}, 2, "--calibration-target-file");
  expect(with_texts({"plan", t5 + ":decoder", "--seed", "1"}), 2, "not to pairs");
  expect(with_texts({"plan", kPlanExample}), 2, "has no source");
  const std::string one = scratch_.write("one.txt", "w2 w3\n").string();
  expect({"plan", t5 + ":decoder", "--calibration-file", one, "--calibration-target-file", one}, 2,
         "too few");
  output_of(
      with_texts({"plan", t5 + ":encoder", "--set", "remove-layers=0", "-o", path("plan.json")}));
  expect(with_texts({"shrink", t5 + ":decoder", path("plan.json"), "-o", path("out")}), 2,
         "the model and stack that the plan was made for");
  EXPECT_FALSE(fs::exists(path("out")));
}

}  // namespace
}  // namespace attnscope::test
