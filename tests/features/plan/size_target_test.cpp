// The sizes that plans select, and the order of methods in a comparison.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/features/attention/attention_model.h"
#include "tests/features/plan/plan_case.h"

namespace attnscope::test {
namespace {

class PlanSizes : public PlanCase {
 protected:
  /// The number of matrices with a rank. Checks that each rank is a multiple of `step`.
  int matrices_of_multiples(const json& report, std::int64_t step) const {
    int matrices = 0;
    for (const json& row : report["rows"]) {
      if (row["rank"].is_null()) continue;
      EXPECT_EQ(row["rank"].get<std::int64_t>() % step, 0) << row.dump();
      EXPECT_LE(row["rank"], row["break_even_rank"]) << row.dump();
      ++matrices;
    }
    return matrices;
  }
};

class PlanMethods : public PlanSizes, public ::testing::WithParamInterface<std::string> {};

TEST_P(PlanMethods, GivesRanksThatAreMultiplesOfRound) {
  const json report = planned(kPlanExample, {"--method", "low-rank", "--keep", "0.6",
                                             "--rank-allocation", GetParam(), "--round", "8"});
  EXPECT_GT(matrices_of_multiples(report, 8), 20);
  double before = 0, after = 0;
  for (const json& row : report["rows"]) {
    before += row["parameters"].get<double>();
    after += row["parameters_after"].get<double>();
  }
  EXPECT_LE(after, 0.6 * before);
  // At most one step per matrix of the budget remains unused.
  EXPECT_GT(after, 0.5 * before);
}

INSTANTIATE_TEST_SUITE_P(All, PlanMethods, ::testing::Values("kl", "energy", "uniform", "plain"),
                         [](const auto& method) { return method.param; });

TEST_F(PlanSizes, SizesAreMultiplesOfRound) {
  const auto size_of_plan = [&](const std::string& form, const std::string& keep,
                                const std::string& round) {
    const json report = planned(kPlanExample, {"--method", form, "--keep", keep, "--round", round});
    const json& plan = report["models"][0]["plan"];
    EXPECT_LE(plan["parameters_after"].get<double>(),
              std::stod(keep) * plan["parameters_before"].get<double>());
    return plan["size"].get<std::int64_t>();
  };
  for (const std::string form : {"mlp", "hidden-size", "head-dim"}) {
    const std::string keep = form == "head-dim" ? "0.92" : "0.83";
    const std::int64_t any = size_of_plan(form, keep, "1"), eights = size_of_plan(form, keep, "8");
    EXPECT_EQ(eights % 8, 0) << form;
    EXPECT_LE(eights, any) << form;
    // Hidden: also a multiple of 6 heads.
    EXPECT_GT(eights + (form == "hidden-size" ? 24 : 8), any) << form;
  }
  const json comparison = planned(kPlanExample, {"--method", "mlp,hidden-size", "--round", "32"});
  EXPECT_GT(comparison["rows"].size(), 3u);
  for (const json& row : comparison["rows"])
    EXPECT_EQ(row["size"].get<int>() % 32, 0) << row.dump();
}

/// The compressed model equals the plan even if ranks were rounded.
TEST_F(PlanSizes, RoundedPlansAreWritten) {
  for (const std::string form : {"low-rank", "mlp"}) {
    output_of(plan(kPlanExample, {"--method", form, "--keep", "0.8", "--round", "8", "-o",
                                  path(form + ".json")}));
    const json plan = json::parse(read_file(path(form + ".json")))["models"][0]["plan"];
    const json made = json::parse(output_of(shrink(kPlanExample, form + ".json", form) +
                                            Words{"--format", "json"}))["models"][0]["compressed"];
    EXPECT_NEAR(made["mean_nll"].get<double>(), plan["mean_nll_after"].get<double>(), 1e-4);
  }
}

class MethodComparisonOrder : public PlanCase, public ::testing::WithParamInterface<std::string> {
 protected:
  struct ComparedForm {
    std::string name;
    bool loadable = true;
    // Loss increase in nats, extrapolated to 100% saved.
    double price = std::numeric_limits<double>::infinity();
  };

  /// The methods in the order of the comparison. All sizes of a method are adjacent.
  static std::vector<ComparedForm> forms_of(const json& report) {
    std::vector<ComparedForm> forms;
    const json& model = report["models"][0];
    const auto saved = [&](const json& row, const char* what) {
      const double before = model[what].is_number() ? model[what].get<double>() : 0;
      return before > 0 ? 1 - row[what].get<double>() / before : 0;
    };
    for (const json& row : report["rows"]) {
      const std::string name = row["method"];
      if (forms.empty() || forms.back().name != name) {
        for (const ComparedForm& other : forms) EXPECT_NE(other.name, name) << "stands twice";
        forms.push_back({.name = name, .loadable = row["loadable"]});
      }
      const double share =
          std::max(saved(row, "parameters"), saved(row, "kv_cache_bytes_per_token"));
      const double loss =
          std::max(0.0, row["mean_nll"].get<double>() - model["mean_nll"].get<double>());
      if (share > 0) forms.back().price = std::min(forms.back().price, loss / share);
    }
    return forms;
  }
};

/// Sorted by loss increase per share of parameters or cache saved, at the method's best size.
TEST_P(MethodComparisonOrder, LoadableMethodsComeFirstFromCheapestToMostExpensive) {
  const json report = planned(GetParam(), {});
  const std::vector<ComparedForm> forms = forms_of(report);
  ASSERT_GT(forms.size(), 2u);
  for (std::size_t at = 1; at < forms.size(); ++at) {
    const ComparedForm &before = forms[at - 1], &after = forms[at];
    EXPECT_FALSE(after.loadable && !before.loadable) << before.name << " before " << after.name;
    if (before.loadable == after.loadable) {
      EXPECT_LE(before.price, after.price) << before.name << " before " << after.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, MethodComparisonOrder,
                         ::testing::Values(kPlanExample, kPlanGpt2), [](const auto& example) {
                           return example.param == kPlanGpt2 ? "gpt2" : "llama";
                         });

}  // namespace
}  // namespace attnscope::test
