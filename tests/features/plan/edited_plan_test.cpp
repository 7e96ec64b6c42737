// Plans whose edits contradict the model. They are rejected before any computation, with the row
// and the field, and leave no files.
#include <algorithm>
#include <cmath>
#include <functional>

#include "attnscope/features/plan/plan_file.h"
#include "attnscope/model/model.h"
#include "tests/features/plan/plan_case.h"
#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

struct BadEdit {
  const char* name;
  std::function<void(json& plan)> edit;
  std::string says;
};

json& plan_of(json& report) { return report["models"][0]["plan"]; }

class PlanEdited : public PlanCase {
 protected:
  json made_plan(const Words& more) const {
    Words words = plan(kPlanExample, more);
    words.insert(words.end(), {"-o", path("plan.json")});
    output_of(words);
    return json::parse(read_file(path("plan.json")));
  }

  /// Reads a plan like `shrink`: first on its own, then for the model.
  static void expect_refused(const json& plan, const BadEdit& bad) {
    static const Model model = Model::open(kPlanExample);
    json edited = plan;
    bad.edit(edited);
    const auto read = [&] {
      check_plan_of_model(read_plan(edited.dump(), "edited.json"), model, "edited.json");
    };
    SCOPED_TRACE(bad.name);
    EXPECT_ERROR_SAYING(ErrorKind::format, read(), "edited.json: " + bad.says);
  }

  void expect_refused_all(const json& plan, const std::vector<BadEdit>& edits) const {
    for (const BadEdit& edit : edits) expect_refused(plan, edit);
    expect_refused_by_command(plan, edits.front());
    expect_refused_by_command(plan, edits.back());
  }

  /// Checks that there is one line on stderr and no file is left.
  void expect_refused_by_command(const json& plan, const BadEdit& bad) const {
    json edited = plan;
    bad.edit(edited);
    scratch_.write("edited.json", edited.dump());
    const RunResult run = run_attnscope(shrink(kPlanExample, "edited.json", "out"));
    EXPECT_EQ(run.exit_code, 4) << bad.name << run.err;
    EXPECT_TRUE(contains(run.err, "edited.json: " + bad.says)) << bad.name << ": " << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_EQ(run.out, "") << bad.name;
    for (const fs::directory_entry& entry : fs::directory_iterator(scratch_.path())) {
      const std::string name = entry.path().filename().string();
      EXPECT_TRUE(name.ends_with(".json") || name.ends_with(".txt")) << bad.name << ": " << name;
    }
  }
};

TEST_F(PlanEdited, RejectsAPlanOfOneMethodWithRowAndField) {
  const json plan = made_plan({"--method", "mlp", "--keep", "0.8"});
  const std::vector<BadEdit> edits = {
      {"schema list", [](json& to) { to["schema"] = {0}; }, "schema: expected \"attnscope/2\""},
      {"command list", [](json& to) { to["command"] = {0}; }, "command: expected \"plan\""},
      {"no models", [](json& to) { to["models"] = json::array(); }, "models: expected one model"},
      {"model null", [](json& to) { to["models"][0]["name"] = nullptr; },
       "models[0].name: expected a string"},
      {"parameters list", [](json& to) { to["parameters"] = {1}; },
       "parameters: expected an object"},
      {"loss huge", [](json& to) { plan_of(to)["mean_nll_after"] = 9223372036854775808ULL; },
       "models[0].plan.mean_nll_after: 9223372036854775808 contradicts perplexity_after"},
      {"loss 1e308", [](json& to) { plan_of(to)["mean_nll_after"] = 1e308; },
       "models[0].plan.mean_nll_after: 1e+308 contradicts perplexity_after"},
      {"loss negative", [](json& to) { plan_of(to)["mean_nll_before"] = -1; },
       "models[0].plan.mean_nll_before: expected a finite number of at least 0"},
      {"loss text", [](json& to) { plan_of(to)["mean_nll_after"] = "2"; },
       "models[0].plan.mean_nll_after: expected a finite number"},
      {"perplexity 0", [](json& to) { plan_of(to)["perplexity_before"] = 0; },
       "models[0].plan.mean_nll_before:"},
      {"parameters after", [](json& to) { plan_of(to)["parameters_after"] = 1; },
       "models[0].plan.parameters_after: is 1, expected"},
      {"parameters before", [](json& to) { plan_of(to)["parameters_before"] = 7; },
       "models[0].plan.parameters_before: is 7, expected 2558400"},
      {"cache after", [](json& to) { plan_of(to)["kv_cache_bytes_per_token_after"] = 1; },
       "models[0].plan.kv_cache_bytes_per_token_after: is 1, expected 1536"},
      {"size 0", [](json& to) { plan_of(to)["size"] = 0; },
       "models[0].plan.size: 0 is out of range, expected from 1 to 512 for mlp"},
      {"size large", [](json& to) { plan_of(to)["size"] = 513; },
       "models[0].plan.size: 513 is out of range"},
      {"size of uint64", [](json& to) { plan_of(to)["size"] = 18446744073709551615ULL; },
       "models[0].plan.size: 18446744073709551615 is out of range"},
      {"method", [](json& to) { plan_of(to)["method"] = "wide"; },
       "models[0].plan.method: unknown method 'wide'"},
      {"method of other models",
       [](json& to) {
         plan_of(to)["method"] = "experts";
         for (json& row : to["rows"]) row["method"] = "experts";
       },
       "models[0].plan.method: the model has no experts"},
      {"ridge", [](json& to) { to["parameters"]["ridge"] = -0.5; },
       "parameters.ridge: expected a finite number of at least 0"},
      {"rank_allocation", [](json& to) { to["parameters"]["rank_allocation"] = "best"; },
       "parameters.rank_allocation: unknown rank allocation 'best'"},
      {"sequences", [](json& to) { to["parameters"]["sequences"] = -3; },
       "parameters.sequences: -3 is out of range"},
      {"length", [](json& to) { to["parameters"]["length"] = 1e300; },
       "parameters.length: expected a whole number from 1"},
      {"rows swapped", [](json& to) { std::swap(to["rows"][0], to["rows"][1]); },
       "rows[0].layer: expected 0: one row per layer, in order"},
      {"layer twice", [](json& to) { to["rows"][1]["layer"] = 0; },
       "rows[1].layer: expected 1: one row per layer, in order"},
      {"layer null", [](json& to) { to["rows"][1]["layer"] = nullptr; }, "rows[1].layer: expected"},
      {"row is a list", [](json& to) { to["rows"][2] = json::array(); },
       "rows[2]: expected an object"},
      {"row of another model", [](json& to) { to["rows"][2]["model"] = "other"; },
       "rows[2].model: expected 'shakespeare-llama'"},
      {"row of another method", [](json& to) { to["rows"][2]["method"] = "heads"; },
       "rows[2].method: the plan has no such method"},
      {"row missing", [](json& to) { to["rows"].erase(2); },
       "rows: expected 6 rows (models[0].plan.parts), got 5"},
      {"last row missing",
       [](json& to) {
         to["rows"].erase(5);
         plan_of(to)["parts"] = 5;
       },
       "rows: expected 6 rows of mlp, got 5"},
      {"kept twice", [](json& to) { to["rows"][3]["kept"][1] = to["rows"][3]["kept"][0]; },
       "rows[3].kept: expected"},
      {"kept negative", [](json& to) { to["rows"][5]["kept"][0] = -2; },
       "rows[5].kept[0]: -2 is out of range"},
      {"kept large", [](json& to) { to["rows"][5]["kept"].back() = 512; },
       "rows[5].kept: expected"},
      {"kept short", [](json& to) { to["rows"][4]["kept"].erase(0); }, "rows[4].kept: expected"},
      {"model empty list", [](json& to) { to["models"][0] = json::array(); },
       "models[0]: expected an object"},
      {"model text", [](json& to) { to["models"][0] = "x"; }, "models[0]: expected an object"},
      {"model is null", [](json& to) { to["models"][0] = nullptr; },
       "models[0]: expected an object"},
      {"model number", [](json& to) { to["models"][0] = 5; }, "models[0]: expected an object"},
      {"ridge huge", [](json& to) { to["parameters"]["ridge"] = 1e308; },
       "parameters.ridge: 1e+308 is out of range, expected a number from 0 to 1e+12"},
      {"description", [](json& to) { plan_of(to)["description"] = "MLP 512 → 1"; },
       "models[0].plan.description: is 'MLP 512 → 1', expected 'MLP 512 → "},
      {"loadable", [](json& to) { plan_of(to)["loadable"] = false; },
       "models[0].plan.loadable: expected true"},
      {"sizes", [](json& to) { plan_of(to)["sizes"] = {1}; }, "models[0].plan.sizes[0]: is 1"},
      {"row parameters", [](json& to) { to["rows"][1]["parameters"] = 1; },
       "rows[1].parameters: is 1, expected 393600"},
      {"row parameters after", [](json& to) { to["rows"][1]["parameters_after"] = 1; },
       "rows[1].parameters_after: is 1, expected"},
      {"row with a rank", [](json& to) { to["rows"][1]["rank"] = 3; },
       "rows[1].rank: expected null"},
      {"row with a loss", [](json& to) { to["rows"][1]["loss_increase"] = 0.5; },
       "rows[1].loss_increase: expected null"},
      {"unknown field of a row", [](json& to) { to["rows"][1]["ranks"] = 3; },
       "rows[1].ranks: unknown field"},
      {"kept null", [](json& to) { to["rows"][4]["kept"] = nullptr; },
       "rows[4].kept: expected a list of whole numbers"},
  };
  expect_refused_all(plan, edits);
}

TEST_F(PlanEdited, RejectsADepthPlanWithRowAndField) {
  const json plan = made_plan({"--set", "remove-layers=4"});
  const std::vector<BadEdit> edits = {
      {"no layer stays",
       [](json& to) {
         for (json& row : to["rows"]) row["order"] = 1;
       },
       "models[0].plan.size: 0 is out of range, expected from 1 to 6 for depth"},
      {"order", [](json& to) { to["rows"][1]["order"] = "first"; },
       "rows[1].order: expected a whole number"},
      {"rows swapped", [](json& to) { std::swap(to["rows"][0], to["rows"][1]); },
       "rows[0].layer: expected 0"},
  };
  expect_refused_all(plan, edits);
}

/// Replaces each number of a row by invalid values.
TEST_F(PlanEdited, RejectsRowFieldsOfWrongTypeOrRange) {
  for (const Words& how :
       {Words{"--set", "remove-layers=4"}, Words{"--method", "low-rank", "--keep", "0.7"}}) {
    const json plan = made_plan(how);
    for (const auto& [name, value] : plan["rows"][1].items()) {
      const std::string field = name, place = "rows[1]." + name;
      const auto set = [&](const json& to) {
        expect_refused(
            plan, {"wrong value", [&](json& edited) { edited["rows"][1][field] = to; }, place});
      };
      set(json::array());
      set(true);
      if (!value.is_string()) set(1e308);
      expect_refused(plan, {"missing", [&](json& edited) { edited["rows"][1].erase(field); },
                            place + ": is missing"});
    }
  }
}

TEST_F(PlanEdited, AcceptsLowerRanks) {
  json plan = made_plan({"--method", "low-rank", "--keep", "0.7"});
  json& row = plan["rows"][0];
  ASSERT_TRUE(row["rank"].is_number_integer());
  row["rank"] = row["rank"].get<int>() - 1;
  const int less = 192 + 192;  // a row and a column of the factors
  row["parameters_after"] = row["parameters_after"].get<int>() - less;
  plan_of(plan)["parameters_after"] = plan_of(plan)["parameters_after"].get<int>() - less;
  scratch_.write("edited.json", plan.dump());
  output_of(shrink(kPlanExample, "edited.json", "smaller"));
  EXPECT_TRUE(fs::exists(path("smaller/config.json")));
}

TEST_F(PlanEdited, NotesAPerplexityThatIsNotReproduced) {
  const json plan = made_plan({"--set", "remove-layers=4"});
  for (const std::string when : {"before", "after"}) {
    json edited = plan;
    plan_of(edited)["mean_nll_" + when] = 1;
    plan_of(edited)["perplexity_" + when] = std::exp(1.0);
    scratch_.write("edited.json", edited.dump());
    Words words = shrink(kPlanExample, "edited.json", when);
    std::erase(words, "--quiet");
    const RunResult run = run_attnscope(words);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_TRUE(contains(run.err, "the plan reports 2.718: was the plan edited?")) << run.err;
  }
}

TEST_F(PlanEdited, IsRejectedBeforeTheTextIsRead) {
  json plan = made_plan({"--set", "mlp=300"});
  plan_of(plan)["parameters_after"] = 1;
  scratch_.write("edited.json", plan.dump());
  Words words = shrink(kPlanExample, "edited.json", "out");
  std::ranges::replace(words, text_, path("none.txt"));
  const RunResult run = run_attnscope(words);
  EXPECT_EQ(run.exit_code, 4) << run.err;
  EXPECT_TRUE(contains(run.err, "models[0].plan.parameters_after: is 1")) << run.err;
}

TEST_F(PlanEdited, AcceptsOtherRemovedLayers) {
  json plan = made_plan({"--set", "remove-layers=4"});
  plan["rows"][3]["order"] = 0;
  scratch_.write("edited.json", plan.dump());
  Words words = shrink(kPlanExample, "edited.json", "smaller");
  words.insert(words.end(), {"--format", "json"});
  const json made = json::parse(output_of(words));
  EXPECT_EQ(made["models"][0]["compressed"]["description"], "6 → 4 (without 3-4)");
}

TEST_F(PlanEdited, RejectsALowRankPlanWithRowAndField) {
  const json plan = made_plan({"--method", "low-rank", "--keep", "0.7"});
  const std::vector<BadEdit> edits = {
      {"rank 0", [](json& to) { to["rows"][0]["rank"] = 0; }, "rows[0].rank: 0 is out of range"},
      {"rank large", [](json& to) { to["rows"][0]["rank"] = 1'000'000'000; },
       "rows[0].rank: 1000000000 is out of range"},
      {"layer", [](json& to) { to["rows"][0]["layer"] = 6; },
       "rows[0].layer: expected a number from 0 to 5"},
      {"matrix", [](json& to) { to["rows"][0]["matrix"] = "qq"; },
       "rows[0].matrix: unknown matrix 'qq'"},
      {"matrix of no layer", [](json& to) { to["rows"][0]["matrix"] = "qk"; },
       "rows[0].matrix: this layer has no matrix 'qk'"},
      {"matrix of other models", [](json& to) { to["rows"][0]["matrix"] = "q_a"; },
       "rows[0].matrix: this layer has no matrix 'q_a'"},
      {"rank of other parameters",
       [](json& to) { to["rows"][0]["rank"] = to["rows"][0]["rank"].get<int>() - 1; },
       "rows[0].parameters_after: is"},
      {"rank null", [](json& to) { to["rows"][0]["rank"] = nullptr; }, "rows[0]."},
      {"rank as a fraction", [](json& to) { to["rows"][0]["rank"] = 2.5; },
       "rows[0].rank: expected a whole number"},
      {"layers exchanged",
       [](json& to) { std::swap(to["rows"][0]["layer"], to["rows"][7]["layer"]); },
       "rows[1].layer: expected rows ordered by layer"},
      {"matrices exchanged",
       [](json& to) { std::swap(to["rows"][0]["matrix"], to["rows"][3]["matrix"]); },
       "rows[1].matrix: expected rows ordered by layer"},
      {"parameters", [](json& to) { to["rows"][0]["parameters"] = 1; },
       "rows[0].parameters: is 1, expected 36864"},
      {"parameters after", [](json& to) { to["rows"][0]["parameters_after"] = 1; },
       "rows[0].parameters_after: is 1, expected"},
      {"break-even rank", [](json& to) { to["rows"][0]["break_even_rank"] = 180; },
       "rows[0].break_even_rank: is 180, expected 95"},
      {"parameters after of the plan", [](json& to) { plan_of(to)["parameters_after"] = 1; },
       "models[0].plan.parameters_after: is 1, expected"},
      {"description", [](json& to) { plan_of(to)["description"] = "1 matrix as factors"; },
       "models[0].plan.description: is '1 matrix as factors'"},
      {"size", [](json& to) { plan_of(to)["size"] = 1; }, "models[0].plan.size: is 1, expected"},
      {"loadable", [](json& to) { plan_of(to)["loadable"] = true; },
       "models[0].plan.loadable: expected false"},
      {"loss of a row", [](json& to) { to["rows"][0]["predicted_kl"] = 3; },
       "models[0].plan.predicted_kl: expected"},
      {"matrix twice", [](json& to) { to["rows"][1] = to["rows"][0]; },
       "rows[1].matrix: duplicate: an earlier row has the same layer and matrix"},
  };
  expect_refused_all(plan, edits);
}

TEST_F(PlanEdited, RejectsAPlanOfSeveralMethodsWithRowAndField) {
  const json plan = made_plan({"--method", "hidden-size,mlp", "--keep", "0.75"});
  ASSERT_EQ(plan["models"][0]["plan"]["method"], "hidden-size,mlp");
  const std::vector<BadEdit> edits = {
      {"kept negative", [](json& to) { to["rows"].back()["kept"][0] = -2; },
       "rows[6].kept[0]: -2 is out of range"},
      {"size", [](json& to) { plan_of(to)["sizes"][1] = 513; },
       "models[0].plan.sizes[1]: 513 is out of range"},
      {"hidden size", [](json& to) { plan_of(to)["sizes"][0] = 131; },
       "models[0].plan.sizes[0]: 131 is not a possible size of hidden-size for this model"},
      {"layer of the whole model", [](json& to) { to["rows"][0]["layer"] = 0; },
       "rows[0].layer: expected null"},
  };
  expect_refused_all(plan, edits);
}

TEST_F(PlanEdited, TwoRunsIntoOneFolderDoNotMix) {
  made_plan({"--set", "mlp=300"});
  output_of(shrink(kPlanExample, "plan.json", "alone"));
  RunningCommand first(shrink(kPlanExample, "plan.json", "out"));
  ASSERT_TRUE(first.wait_until(
      [&] { return fs::exists(path(".out.attnscope-tmp")) || fs::exists(path("out")); }));
  const RunResult second = run_attnscope(shrink(kPlanExample, "plan.json", "out"));
  EXPECT_EQ(first.wait().exit_code, 0);
  EXPECT_EQ(second.exit_code, 3) << second.err;
  EXPECT_TRUE(contains(second.err, "another run is writing this folder") ||
              contains(second.err, "not empty"))
      << second.err;
  EXPECT_EQ(read_file(path("out/model.safetensors")), read_file(path("alone/model.safetensors")));
  for (const fs::directory_entry& entry : fs::directory_iterator(scratch_.path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
  }
}

}  // namespace
}  // namespace attnscope::test
