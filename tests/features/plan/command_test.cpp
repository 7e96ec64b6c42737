// Plans, the compressed models, and differences of models, through the command line.
#include <cmath>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/features/plan/plan_case.h"
#include "tests/support/sqlite_query.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;
using PlanCommand = PlanCase;
using PlanSearch = PlanCase;  // the slowest tests
using PlanResume = PlanCase;  // resumed plans

TEST_F(PlanSearch, TheComparisonHasEveryMethodOfTheArchitecture) {
  std::set<std::string> forms;
  const json report = planned(kPlanExample, {});
  for (const json& row : report["rows"]) {
    forms.insert(row["method"].get<std::string>());
    EXPECT_NEAR(row["perplexity"].get<double>(), std::exp(row["mean_nll"].get<double>()), 1e-9);
    EXPECT_EQ(row["loadable"], row["method"] != "low-rank");
  }
  EXPECT_EQ(forms.size(), 8u);
  forms.clear();
  const json of_gpt2 = planned(kPlanGpt2, {});
  for (const json& row : of_gpt2["rows"]) forms.insert(row["method"].get<std::string>());
  EXPECT_EQ(forms, (std::set<std::string>{"depth", "mlp", "low-rank"}));
}

/// For each method, the compressed model has the properties that the plan states.
TEST_F(PlanCommand, WrittenModelEqualsThePlan) {
  const struct {
    std::string name;
    Words words;
  } forms[] = {{"depth", {"--set", "remove-layers=2"}},
               {"mlp", {"--method", "mlp", "--keep", "0.8"}},
               {"hidden-size", {"--set", "hidden-size=144"}},
               {"head-dim", {"--method", "head-dim", "--kv-bytes", "0.5"}},
               {"kv-heads", {"--set", "kv-heads=1"}},
               {"heads", {"--set", "heads=4"}},
               {"mla", {"--set", "mla=32+32"}},
               {"low-rank", {"--method", "low-rank", "--keep", "0.7"}}};
  for (const auto& [name, words] : forms) {
    Words write = plan(kPlanExample, words);
    write.insert(write.end(), {"-o", path(name + ".json")});
    output_of(write);
    Words make = shrink(kPlanExample, name + ".json", name);
    make.insert(make.end(), {"--format", "json"});
    const json made = json::parse(output_of(make))["models"][0]["compressed"];
    std::ifstream file(path(name + ".json"));
    const json plan = json::parse(file)["models"][0]["plan"];
    EXPECT_EQ(plan["method"], name);
    EXPECT_EQ(made["method"], name);
    // The same float32 products are summed in another order. The measured bytes are the written
    // ones.
    EXPECT_NEAR(made["mean_nll"].get<double>(), plan["mean_nll_after"].get<double>(), 1e-4) << name;
    EXPECT_EQ(made["kv_cache_bytes_per_token"], plan["kv_cache_bytes_per_token_after"]) << name;
    if (name != "low-rank") {
      EXPECT_EQ(made["flops_per_token"], plan["flops_per_token_after"]) << name;
      EXPECT_EQ(made["parameters"], plan["parameters_after"]) << name;
    }
    EXPECT_TRUE(fs::exists(path(name) + "/tokenizer.json"));
    EXPECT_EQ(output_of({"info", path(name), "--format", "json"}).empty(), false);
  }
}

/// At full size, the model is still recomputed and measured: `hidden-size` rotates the residual
/// stream and unties the head.
TEST_F(PlanCommand, FullSizeLosesNothing) {
  for (const std::string set :
       {"hidden-size=192", "head-dim=32", "kv-heads=2", "heads=6", "mlp=512"}) {
    const json plan = planned(kPlanExample, {"--set", set})["models"][0]["plan"];
    const double before = plan["mean_nll_before"].get<double>();
    // Recomputed weights are rounded to bfloat16 once more, a random relative error of 2^-9.
    EXPECT_NEAR(plan["mean_nll_after"].get<double>(), before, 5e-3) << set;
  }
  // A latent with all rotary keys and all values, rounded to bfloat16 like the model.
  const json plan = planned(kPlanExample, {"--set", "mla=64+64"})["models"][0]["plan"];
  EXPECT_NEAR(plan["mean_nll_after"].get<double>(), plan["mean_nll_before"].get<double>(), 0.01);
}

TEST_F(PlanCommand, ThreadsAndMemoryDoNotChangeTheOutput) {
  output_of([&] {
    Words words = plan(kPlanExample, {"--set", "mlp=300", "-o", path("plan.json")});
    return words;
  }());
  Words one = shrink(kPlanExample, "plan.json", "one"),
        many = shrink(kPlanExample, "plan.json", "many");
  one.insert(one.end(), {"--threads", "1"});
  many.insert(many.end(), {"--threads", "3", "--memory", "3M"});
  output_of(one);
  output_of(many);
  for (const char* name : {"model.safetensors", "config.json", "README.md", "tokenizer.json"}) {
    EXPECT_EQ(read_file(path("one") + "/" + name), read_file(path("many") + "/" + name)) << name;
  }
}

TEST_F(PlanCommand, RejectsInvalidRequests) {
  const auto expect = [&](const Words& words, int code, const std::string& says) {
    const RunResult run = run_attnscope(words);
    EXPECT_EQ(run.exit_code, code) << run.err;
    EXPECT_TRUE(contains(run.err, says)) << run.err;
  };
  expect(plan(kPlanGpt2, {"--method", "heads", "--keep", "0.9"}), 5,
         "supports depth, mlp, low-rank");
  expect(plan(kPlanExample, {"--method", "mlp", "--keep", "0"}), 2,
         "a share greater than 0 and at most 1");
  expect(plan(kPlanExample, {"--method", "mlp", "--keep", "1.2"}), 2,
         "a share greater than 0 and at most 1");
  expect(plan(kPlanExample, {"--method", "mlp", "--kv-bytes", "-1"}), 2, "a share greater than 0");
  expect(plan(kPlanExample, {"--method", "mlp", "--keep", "0.05"}), 6, "nearest");
  expect(plan(kPlanExample, {"--method", "mlp", "--max-perplexity", "1.5"}), 6,
         "the original model");
  expect(plan(kPlanExample, {"--keep", "0.5"}), 2, "missing compression method");
  expect(plan(kPlanExample, {"--method", "mlp", "--keep", "0.5", "--set", "mlp=3"}), 2,
         "another target");
  expect(plan(kPlanExample, {"--set", "heads=5"}), 2, "is not a possible size");
  expect(plan(kPlanExample, {"--method", "mlp", "--layers", "0", "--keep", "0.5"}), 2,
         "only with low-rank");
  expect({"plan", kPlanExample}, 2, "missing calibration text");
  expect(plan(data_path("forward/llama"), {"--method", "mlp", "--keep", "0.5"}), 2,
         "pass token ids with --calibration-token-file");
}

TEST_F(PlanCommand, ShrinkRejectsOtherModelsTextsAndPlans) {
  output_of(plan(kPlanExample, {"--method", "low-rank", "--keep", "0.8", "-o", path("plan.json")}));
  output_of(plan(kPlanExample, {"--method", "mlp", "-o", path("comparison.json")}));
  const auto expect = [&](const Words& words, int code, const std::string& says) {
    const RunResult run = run_attnscope(words);
    EXPECT_EQ(run.exit_code, code) << run.err;
    EXPECT_TRUE(contains(run.err, says)) << run.err;
  };
  expect(shrink(kPlanGpt2, "plan.json", "out"), 4, "model_hash");
  expect(shrink(kPlanExample, "comparison.json", "out"), 2, "selects none");
  Words other = shrink(kPlanExample, "plan.json", "out");
  other[4] = scratch_.write("other.txt", verses() + verses() + "The end.").string();
  expect(other, 4, "belongs to another");
  scratch_.write("full/file", "");
  expect(shrink(kPlanExample, "plan.json", "full"), 3, "not empty");
  json edited = json::parse(read_file(path("plan.json")));
  for (json& row : edited["rows"]) {
    if (row["rank"].is_number()) row["rank"] = row["break_even_rank"].get<int>() + 1;
  }
  scratch_.write("edited.json", edited.dump());
  expect(shrink(kPlanExample, "edited.json", "out"), 4,
         "rank: 96 is out of range, expected a whole number from 1 to 95");
  for (json& row : edited["rows"]) row["break_even_rank"] = 1000;
  scratch_.write("edited.json", edited.dump());
  expect(shrink(kPlanExample, "edited.json", "out"), 4, "higher ranks save no parameters");
  edited["rows"].erase(3);
  scratch_.write("edited.json", edited.dump());
  expect(shrink(kPlanExample, "edited.json", "out"), 4,
         "rows: expected 42 rows (models[0].plan.parts), got 41");
  edited = json::parse(read_file(path("plan.json")));
  for (json& row : edited["rows"]) {
    if (!row["rank"].is_number()) continue;
    const int after = row["parameters_after"], each = after / row["rank"].get<int>();
    row["rank"] = 3;
    row["parameters_after"] = 3 * each;
    json& whole = edited["models"][0]["plan"]["parameters_after"];
    whole = whole.get<int>() - after + 3 * each;
  }
  scratch_.write("edited.json", edited.dump());
  Words loud = shrink(kPlanExample, "edited.json", "edited");
  loud.pop_back();  // --quiet
  const RunResult run = run_attnscope(loud);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.err, "was the plan edited?")) << run.err;
  EXPECT_FALSE(fs::exists(path("out")));
}

TEST(Diff, IsZeroForAModelAndItself) {
  const TempFolder scratch;
  fs::copy(kPlanExample, scratch.path() / "copy");
  const std::string copy = (scratch.path() / "copy").string();
  const json report =
      json::parse(output_of({"diff", kPlanExample, copy, "--format", "json", "--per-head"}));
  for (const json& row : report["rows"]) {
    EXPECT_EQ(row["relative_change"], 0);
    EXPECT_EQ(row["energy_rank"]["0.9"], 0);
    EXPECT_TRUE(row["output_space"].is_null());
  }
  const RunResult run =
      run_attnscope({"diff", kPlanExample, copy, "--lora", (scratch.path() / "lora").string()});
  EXPECT_EQ(run.exit_code, 6);
  EXPECT_TRUE(contains(run.err, "nothing changed")) << run.err;
  EXPECT_FALSE(fs::exists(scratch.path() / "lora"));
  EXPECT_EQ(run_attnscope({"diff", kPlanExample}).exit_code, 2);
  EXPECT_EQ(run_attnscope({"diff", kPlanExample, data_path("llama")}).exit_code, 6);
}

/// A low-rank plan gives a model with low-rank changes, which a LoRA adapter reproduces.
TEST_F(PlanCommand, AnAdapterReproducesADifference) {
  output_of(
      plan(kPlanExample, {"--set", "low-rank=0.q:20,3.up:40,5.down:30", "-o", path("plan.json")}));
  Words make = shrink(kPlanExample, "plan.json", "tuned");
  make.insert(make.end(), {"--dtype", "F32"});
  output_of(make);
  const json direct =
      json::parse(output_of({"diff", kPlanExample, path("tuned"), "--format", "json", "--lora",
                             path("lora"), "--lora-energy", "0.999999999"}));
  const json merged =
      json::parse(output_of({"diff", kPlanExample, path("lora"), "--format", "json"}));
  ASSERT_EQ(direct["rows"].size(), merged["rows"].size());
  int changed = 0;
  for (std::size_t row = 0; row < direct["rows"].size(); ++row) {
    const double change = direct["rows"][row]["relative_change"].get<double>();
    changed += change > 0 ? 1 : 0;
    // float32 factors: 2^-24 of the change, plus the omitted energy, √1e-9 of it.
    EXPECT_NEAR(merged["rows"][row]["relative_change"].get<double>(), change, 1e-4 * change);
  }
  EXPECT_EQ(changed, 3);
  const json config = json::parse(read_file(path("lora") + "/adapter_config.json"));
  EXPECT_EQ(config["target_modules"].size(), 3u);
  EXPECT_EQ(config["rank_pattern"], config["alpha_pattern"]);
}

/// float32 weights are copied if memory allows. Otherwise each pass decodes them.
TEST_F(PlanSearch, CopiesOfWeightsDoNotChangeTheResult) {
  Words write = plan(kPlanExample, {"--set", "hidden-size=192", "-o", path("whole.json")});
  output_of(write);
  Words make = shrink(kPlanExample, "whole.json", "float32");
  make.insert(make.end(), {"--dtype", "F32"});
  output_of(make);
  for (const std::string forms : {"depth", "mlp", "low-rank", "mla"}) {
    Words words = plan(path("float32"), {"--method", forms, "--format", "json"});
    std::erase(words, "--quiet");
    std::vector<RunResult> runs;
    for (const std::string memory : {"2G", "24M"}) {
      Words own = words;
      own.insert(own.end(), {"--memory", memory});
      runs.push_back(run_attnscope(own));
      ASSERT_EQ(runs.back().exit_code, 0) << runs.back().err;
    }
    EXPECT_TRUE(contains(runs[0].err, "copies of weights")) << runs[0].err;
    EXPECT_FALSE(contains(runs[1].err, "copies of weights")) << runs[1].err;
    EXPECT_EQ(runs[0].out, runs[1].out) << forms;
  }
}

/// Every measured step is stored, so that a resumed run does not recompute it.
TEST_F(PlanResume, AStoppedPlanResumes) {
  const std::string store = path("rows.sqlite");
  Words words = plan(kPlanGpt2, {"--format", "csv"});
  const std::string reference = output_of(words);
  words.insert(words.end(), {"--store", store});
  const long kept = stop_after(5, words, store);
  EXPECT_EQ(output_of(words), reference);
  const std::string of_last = " FROM runs ORDER BY id DESC LIMIT 1";
  EXPECT_EQ(query_number(store, "SELECT computed" + of_last), items_of(store) - kept);
  EXPECT_GE(query_number(store, "SELECT found" + of_last), 5);
  EXPECT_EQ(output_of(words), reference);
  EXPECT_EQ(query_number(store, "SELECT computed" + of_last), 0);
  EXPECT_FALSE(fs::exists(path(".rows.sqlite.attnscope-moments")));
  // Steps are not exported as rows.
  const RunResult exported = run_attnscope({"export", store, "--format", "csv"});
  EXPECT_TRUE(contains(exported.err, "contains no rows")) << exported.err;
  // Another text, or another ridge, is another plan.
  words.insert(words.end(), {"--method", "low-rank", "--keep", "0.8", "--ridge", "0.02"});
  output_of(words);
  EXPECT_GT(query_number(store, "SELECT computed" + of_last), 0);
}

}  // namespace
}  // namespace attnscope::test
