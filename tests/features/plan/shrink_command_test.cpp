// Writing compressed models: resumed and failed runs.
#include <algorithm>
#include <csignal>
#include <set>

#include "tests/features/plan/plan_case.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

class Shrink : public PlanCase {
 protected:
  void make_plan(const Words& words) {
    Words all = plan(kPlanExample, words);
    all.insert(all.end(), {"-o", path("plan.json")});
    output_of(all);
  }

  std::size_t layers_kept(const std::string& folder) const {
    const fs::path hidden = path("." + folder + ".attnscope-layers");
    std::size_t count = 0;
    if (!fs::exists(hidden)) return 0;
    for (const auto& entry : fs::directory_iterator(hidden)) {
      count += entry.path().extension() == ".safetensors" ? 1 : 0;
    }
    return count;
  }

  void expect_same(const std::string& one, const std::string& other) const {
    const Words names = files_in(path(one));
    EXPECT_EQ(names, files_in(path(other)));
    for (const std::string& name : names) {
      EXPECT_EQ(read_file(path(one) + "/" + name), read_file(path(other) + "/" + name)) << name;
    }
  }
};

TEST_F(Shrink, ResumesAfterAStop) {
  for (const std::string set : {"mlp=300", "mla=32+32"}) {
    make_plan({"--set", set});
    output_of(shrink(kPlanExample, "plan.json", "whole " + set));
    const std::string name = "stopped " + set;
    for (const auto& [layers, signal] : {std::pair{1u, SIGKILL}, {4u, SIGINT}}) {
      RunningCommand command(shrink(kPlanExample, "plan.json", name));
      const bool reached = command.wait_until(
          [&, least = layers] { return layers_kept(name) >= least || fs::exists(path(name)); });
      command.send(signal);
      EXPECT_TRUE(reached);
      command.wait();
      if (fs::exists(path(name))) break;  // it had already finished
    }
    if (!fs::exists(path(name))) {
      const std::size_t before = layers_kept(name);
      Words again = shrink(kPlanExample, "plan.json", name);
      again.pop_back();  // --quiet
      const RunResult run = run_attnscope(again);
      EXPECT_EQ(run.exit_code, 0) << run.err;
      EXPECT_TRUE(contains(run.err, "reused " + std::to_string(before) + " layer")) << run.err;
    }
    expect_same("whole " + set, name);
    EXPECT_FALSE(fs::exists(path("." + name + ".attnscope-layers"))) << set;
    EXPECT_FALSE(fs::exists(path("." + name + ".attnscope-tmp"))) << set;
  }
}

TEST_F(Shrink, DoesNotReuseLayersOfAnotherPlan) {
  make_plan({"--set", "mlp=300"});
  {
    RunningCommand command(shrink(kPlanExample, "plan.json", "out"));
    command.wait_until([&] { return layers_kept("out") >= 2; });
    command.send(SIGKILL);
    command.wait();
  }
  make_plan({"--set", "mlp=200"});
  output_of(shrink(kPlanExample, "plan.json", "whole"));
  output_of(shrink(kPlanExample, "plan.json", "out"));
  expect_same("whole", "out");
}

/// Simulates a full disk: files cannot grow beyond the limit.
TEST_F(Shrink, LeavesNoPartialModelOnAFullDisk) {
  make_plan({"--set", "mlp=300"});
  output_of(shrink(kPlanExample, "plan.json", "whole"));
  for (const std::uint64_t limit : {20'000u, 400'000u, 2'000'000u}) {
    const RunResult run =
        run_attnscope(shrink(kPlanExample, "plan.json", "out"), {.file_limit_bytes = limit});
    EXPECT_EQ(run.exit_code, 3) << limit << run.err;
    EXPECT_TRUE(contains(run.err, "cannot write")) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_FALSE(fs::exists(path("out")));
    EXPECT_FALSE(fs::exists(path(".out.attnscope-tmp")));
  }
  output_of(shrink(kPlanExample, "plan.json", "out"));
  expect_same("whole", "out");
}

/// A bidirectional model whose tokenizer has a mask token.
TEST_F(Shrink, MeasuresAnEncoderAtMasks) {
  const fs::path folder = scratch_.path() / "bert";
  fs::create_directories(folder);
  for (const char* name : {"config.json", "model.safetensors"}) {
    fs::copy(data_path("forward/bert") + "/" + name, folder / name);
  }
  std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", text;
  for (int word = 0; word < 43; ++word) vocabulary += "w" + std::to_string(word) + "\n";
  for (int at = 0; at < 700; ++at) text += "w" + std::to_string(at * at % 43) + " ";
  scratch_.write("bert/vocab.txt", vocabulary);
  text_ = scratch_.write("words.txt", text).string();
  const auto of_bert = [&](const Words& more) {
    Words words = {"plan", folder.string(), "--calibration-file", text_, "--length",
                   "16",   "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  std::set<std::string> forms;
  const json comparison = json::parse(output_of(of_bert({"--format", "json"})));
  for (const json& row : comparison["rows"]) {
    forms.insert(row["method"].get<std::string>());
  }
  EXPECT_EQ(forms, (std::set<std::string>{"depth", "mlp", "low-rank"}));
  for (const std::string set : {"remove-layers=0", "mlp=20", "low-rank=0.q:4,1.up:9"}) {
    output_of(of_bert({"--set", set, "-o", path("plan.json")}));
    Words make = shrink(folder.string(), "plan.json", "smaller " + set);
    make.insert(make.end(), {"--format", "json"});
    const json made = json::parse(output_of(make))["models"][0]["compressed"];
    const json planned = json::parse(read_file(path("plan.json")))["models"][0]["plan"];
    EXPECT_NEAR(made["mean_nll"].get<double>(), planned["mean_nll_after"].get<double>(), 1e-4);
    EXPECT_NE(planned["mean_nll_after"], planned["mean_nll_before"]);
  }
}

}  // namespace
}  // namespace attnscope::test
