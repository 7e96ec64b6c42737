// Shared by tests of plans of tiny models without a tokenizer.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "tests/features/attention/attention_model.h"
#include "tests/support/program.h"

namespace attnscope::test {

class PlanOfTokens : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (scratch_.path() / name).string(); }

  Words on_tokens(Words words, std::uint64_t vocabulary) const {
    const auto shard = scratch_.write("tokens.bin", shard_bytes(random_tokens(400, vocabulary)));
    words.insert(words.end(), {"--calibration-token-file", shard.string(), "--quiet"});
    if (words.front() == "plan") words.insert(words.end(), {"--length", "16"});
    return words;
  }

  std::set<std::string> compared_forms(const std::string& model, std::uint64_t vocabulary) const {
    const json report = report_of(on_tokens({"plan", model}, vocabulary));
    std::set<std::string> forms;
    for (const json& row : report["rows"]) forms.insert(row["method"].get<std::string>());
    return forms;
  }

  /// Plans, writes, and compares the two. Returns the stderr output of shrink.
  std::string expect_written_as_planned(const std::string& model, std::uint64_t vocabulary,
                                        const Words& target, const Words& more = {}) const {
    SCOPED_TRACE(model + ": " + target.back());
    const std::string plan_file = path("plan.json"), out = path("out");
    std::filesystem::remove_all(out);
    output_of(on_tokens(Words{"plan", model} + target + Words{"-o", plan_file}, vocabulary));
    const json plan = json::parse(read_file(plan_file))["models"][0]["plan"];
    Words make = on_tokens({"shrink", model, plan_file, "-o", out, "--format", "json"}, vocabulary);
    std::erase(make, "--quiet");
    const RunResult run = run_attnscope(make + more);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    if (run.exit_code != 0) return run.err;
    const json made = json::parse(run.out)["models"][0]["compressed"];
    EXPECT_EQ(made["method"], plan["method"]);
    EXPECT_EQ(made["description"], plan["description"]);
    EXPECT_EQ(made["kv_cache_bytes_per_token"], plan["kv_cache_bytes_per_token_after"]);
    if (plan["method"] != "low-rank") {
      EXPECT_EQ(made["parameters"], plan["parameters_after"]);
    }
    EXPECT_NE(plan["mean_nll_after"], plan["mean_nll_before"]);
    EXPECT_NEAR(made["mean_nll"].get<double>(), plan["mean_nll_after"].get<double>(),
                allowed_of_nll_);
    return run.err;
  }

  /// The dtypes of the new model's projections, or of all its tensors.
  std::set<std::string> written_dtypes(bool all = false) const {
    const json info = report_of({"info", path("out")});
    std::set<std::string> dtypes;
    for (const json& row : info["rows"]) {
      if (!all && !contains(row["name"].get<std::string>(), "_proj")) continue;
      dtypes.insert(row["dtype"].get<std::string>());
    }
    return dtypes;
  }

  TempFolder scratch_;
  double allowed_of_nll_ = 1e-4;  // the same float32 products in another order
};

}  // namespace attnscope::test
