// Several methods at once, from the plan to the compressed model. Also plans that were stopped
// early or edited by hand.
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/features/plan/plan_case.h"
#include "tests/support/sqlite_query.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

class PlanCombination : public PlanCase {
 protected:
  json combined(const std::string& forms, const std::string& target, const std::string& value) {
    output_of(plan(kPlanExample, {"--method", forms, target, value, "-o", path("plan.json")}));
    return json::parse(read_file(path("plan.json")));
  }

  void expect_same(const std::string& one, const std::string& other) const {
    const Words names = files_in(path(one));
    EXPECT_EQ(names, files_in(path(other)));
    for (const std::string& name : names) {
      EXPECT_EQ(read_file(path(one) + "/" + name), read_file(path(other) + "/" + name)) << name;
    }
  }

  void expect_refused(const json& plan, const std::string& says) const {
    scratch_.write("edited.json", plan.dump());
    const RunResult run = run_attnscope(shrink(kPlanExample, "edited.json", "refused"));
    EXPECT_EQ(run.exit_code, 4) << run.err;
    EXPECT_TRUE(contains(run.err, says)) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_FALSE(fs::exists(path("refused")));
  }
};

TEST_F(PlanCombination, WrittenModelEqualsThePlan) {
  const json report = combined("kv-heads,mlp", "--keep", "0.85");
  const json plan = report["models"][0]["plan"];
  const auto before = plan["parameters_before"].get<double>();
  const auto after = plan["parameters_after"].get<double>();
  EXPECT_LE(after, 0.85 * before);
  EXPECT_GT(after, 0.84 * before);  // the last step is as small as possible
  Words make = shrink(kPlanExample, "plan.json", "out");
  make.insert(make.end(), {"--format", "json"});
  const json made = json::parse(output_of(make))["models"][0]["compressed"];
  EXPECT_EQ(made["parameters"], plan["parameters_after"]);
  EXPECT_EQ(made["kv_cache_bytes_per_token"], plan["kv_cache_bytes_per_token_after"]);
  EXPECT_NEAR(made["mean_nll"].get<double>(), plan["mean_nll_after"].get<double>(), 1e-4);
  EXPECT_EQ(made["method"], plan["method"]);
}

using PlanCombinationSearch = PlanCombination;  // the slowest tests
using PlanCombinationResume = PlanCombination;  // resumed plans

TEST_F(PlanCombinationSearch, UsesOnlyTheMethodsThatATargetNeeds) {
  // Half of the cache is one of two key/value heads, so no neuron is removed.
  const json cache = combined("kv-heads,mlp", "--kv-bytes", "0.5")["models"][0]["plan"];
  EXPECT_EQ(cache["method"], "kv-heads");
  EXPECT_EQ(cache["sizes"], json::array({1}));
  const json loss = combined("mlp,kv-heads", "--max-perplexity", "+2%")["models"][0]["plan"];
  EXPECT_LT(loss["parameters_after"].get<double>(), loss["parameters_before"].get<double>());
  EXPECT_LE(loss["perplexity_after"].get<double>(), 1.02 * loss["perplexity_before"].get<double>());
}

TEST_F(PlanCombinationResume, ResumesAfterTheLastStoredStep) {
  Words words =
      plan(kPlanExample, {"--method", "kv-heads,mlp", "--keep", "0.9", "--format", "csv"});
  const std::string reference = output_of(words), store = path("rows.sqlite");
  words.insert(words.end(), {"--store", store});
  const long kept = stop_after(4, words, store);
  EXPECT_EQ(output_of(words), reference);
  const std::string of_last = " FROM runs ORDER BY id DESC LIMIT 1";
  EXPECT_EQ(query_number(store, "SELECT computed" + of_last), items_of(store) - kept);
  EXPECT_GE(query_number(store, "SELECT found" + of_last), 4);
  EXPECT_EQ(output_of(words), reference);
  EXPECT_EQ(query_number(store, "SELECT computed" + of_last), 0);
  // Changing the budget changes the number of heads, so MLP sizes are recomputed.
  const long before = items_of(store);
  words[words.size() - 5] = "0.85";
  output_of(words);
  EXPECT_GT(items_of(store), before);
}

TEST_F(PlanCombination, RejectsMethodsThatCannotBeCombined) {
  const auto expect = [&](const Words& words, int code, const std::string& says) {
    const RunResult run = run_attnscope(plan(kPlanExample, words));
    EXPECT_EQ(run.exit_code, code) << run.err;
    EXPECT_TRUE(contains(run.err, says)) << run.err;
  };
  expect({"--method", "mlp,low-rank", "--keep", "0.5"}, 2, "low-rank cannot be combined");
  expect({"--method", "mlp,mla", "--keep", "0.5"}, 2, "mla cannot be combined");
  expect({"--method", "mlp,nothing", "--keep", "0.5"}, 2, "'nothing' is not a method");
  expect({"--method", "hidden-size,mlp", "--set", "mlp=9"}, 2, "another method");
  expect({"--method", "kv-heads,heads", "--keep", "0.1"}, 6, "nearest");
  expect({"--method", "kv-heads,heads", "--keep", "1"}, 6, "requires no compression step");
}

TEST_F(PlanCombination, RejectsEditedPlansWithTheField) {
  const json plan = combined("hidden-size,mlp", "--keep", "0.75");
  ASSERT_EQ(plan["models"][0]["plan"]["method"], "hidden-size,mlp");
  json other = plan;
  other["schema"] = "attnscope/1";
  expect_refused(other, "schema: is version attnscope/1, expected attnscope/2");
  other["schema"] = 2;
  expect_refused(other, "schema: expected \"attnscope/2\"");
  other = plan;
  other["models"][0]["plan"]["sizes"] = {1};
  expect_refused(other, "sizes: expected one size per method, 2, got 1");
  other = plan;
  other["models"][0]["plan"]["method"] = "mlp,mlp";
  expect_refused(other, "these methods cannot be combined");
  other = plan;
  other["rows"] = json::array();
  expect_refused(other, "rows: expected 7 rows (models[0].plan.parts), got 0");
  other = plan;
  other["rows"].back()["kept"] = {3, 2, 1};
  expect_refused(other, "different numbers");
  other = plan;
  other["rows"].erase(other["rows"].size() - 1);
  expect_refused(other, "rows: expected 7 rows (models[0].plan.parts), got 6");
  other = plan;
  other["models"][0]["plan"].erase("model_hash");
  expect_refused(other, "model_hash: is missing");
}

TEST_F(PlanCombinationResume, ResumesFromAnyMoment) {
  combined("hidden-size,mlp", "--keep", "0.75");
  output_of(shrink(kPlanExample, "plan.json", "whole"));
  std::mt19937 random(7);  // NOLINT: a fixed seed, so that the moments are always the same
  for (int time = 0; time < 8; ++time) {
    const std::chrono::milliseconds moment(random() % 700);
    const auto end = std::chrono::steady_clock::now() + moment;
    RunningCommand command(shrink(kPlanExample, "plan.json", "out"));
    command.wait_until(
        [&] { return std::chrono::steady_clock::now() >= end || fs::exists(path("out")); });
    command.send(time % 2 == 0 ? SIGTERM : SIGKILL);
    command.wait();
    if (!fs::exists(path("out"))) continue;
    expect_same("whole", "out");  // the final name exists only for a complete model
    fs::remove_all(path("out"));
  }
  output_of(shrink(kPlanExample, "plan.json", "out"));
  expect_same("whole", "out");
  EXPECT_FALSE(fs::exists(path(".out.attnscope-layers")));
  EXPECT_FALSE(fs::exists(path(".out.attnscope-tmp")));
}

}  // namespace
}  // namespace attnscope::test
