// `ablate --heads`, `--pairs` and `--cumulative`. Golden tests: tests/interventions.
#include <map>
#include <set>

#include "tests/interventions/goldens.h"

namespace attnscope::test {
namespace {

const Words kText = {
    "--text-file", source_path("examples/README.md"), "--sequences", "3", "--length", "24"};
const Words kModel = {source_path("examples/induction-gpt2"), "--tokens",
                      "1,5,9,2,7,3,1,5,9,2,7,3,11,4", "--tokens", "8,6,5,1,2,3,8,6,5,1,2,3,9,0"};

std::map<std::string, json> by_heads(const json& rows) {
  std::map<std::string, json> out;
  for (const json& row : rows) out[row["heads"]] = row;
  return out;
}

TEST(CliHeadSets, AllHeadsOfALayerAreItsAttention) {
  const Words stacks[] = {
      {data_path("forward/llama"), "--tokens", "1,5,9,2,7,3"},
      {data_path("forward/gemma4"), "--tokens", "1,5,9,2,7,3"},  // runs whole passes
      {data_path("encoder_decoders/t5") + ":encoder", "--tokens", "1,5,9,2", "--target-tokens",
       "0,7,3,2"},
      {data_path("encoder_decoders/t5") + ":decoder", "--tokens", "1,5,9,2", "--target-tokens",
       "0,7,3,2"},
      {data_path("encoder_decoders/t5") + ":cross", "--tokens", "1,5,9,2", "--target-tokens",
       "0,7,3,2"}};
  for (const Words& text : stacks) {
    SCOPED_TRACE(text.front());
    const json parts = report_of(Words{"ablate"} + text + Words{"--layers", "1"})["rows"];
    std::string all;
    std::map<std::string, json> alone;
    for (const json& row : parts) {
      if (row["component"] != "head") continue;
      const std::string name = "L1H" + std::to_string(row["head"].get<int>());
      all += (all.empty() ? "" : ",") + name;
      alone[name] = row;
    }
    const json sets = report_of(Words{"ablate"} + text + Words{"--heads", all})["rows"];
    ASSERT_EQ(sets.size(), alone.size() + 1);
    for (const json& row : sets) {
      const json& wanted = row["count"] == 1 ? alone[row["heads"]] : parts[0];
      for (const char* field : {"loss_increase", "kl", "top_token_changed", "loss"}) {
        EXPECT_NEAR(row[field].get<double>(), wanted[field].get<double>(), 2e-6) << field;
      }
    }
  }
}

TEST(CliHeadSets, AnInteractionIsTheIncreaseBeyondTheSum) {
  const json report = report_of(Words{"ablate"} + kModel + Words{"--pairs", "3"});
  const std::map<std::string, json> rows = by_heads(report["rows"]);
  ASSERT_EQ(rows.size(), 6U);  // 3 heads and their pairs
  double weakest = 1e9;
  for (const auto& [heads, row] : rows) {
    if (row["count"] == 1) {
      EXPECT_TRUE(row["interaction"].is_null());
      weakest = std::min(weakest, std::abs(row["loss_increase"].get<double>()));
      continue;
    }
    const std::size_t comma = heads.find(',');
    const double sum = rows.at(heads.substr(0, comma))["loss_increase"].get<double>() +
                       rows.at(heads.substr(comma + 1))["loss_increase"].get<double>();
    EXPECT_NEAR(row["sum_of_increases"].get<double>(), sum, 1e-9);
    EXPECT_NEAR(row["interaction"].get<double>(), row["loss_increase"].get<double>() - sum, 1e-9);
    EXPECT_TRUE(row["interaction_error"].is_number());
  }
  // No other head has a larger effect.
  const json alone = report_of(Words{"ablate"} + kModel + Words{"--components", "heads"});
  for (const json& row : alone["rows"]) {
    const std::string name = "L" + std::to_string(row["layer"].get<int>()) + "H" +
                             std::to_string(row["head"].get<int>());
    if (!rows.contains(name)) {
      EXPECT_LE(std::abs(row["loss_increase"].get<double>()), weakest + 1e-9);
    }
  }
}

/// The induction heads of layer 1 replace each other. They all depend on the previous-token head of
/// layer 0: without it, their own ablation costs nothing more.
TEST(CliHeadSets, InteractionsTellRedundancyFromDependence) {
  const Words repeated = {source_path("examples/induction-gpt2"),
                          "--tokens",
                          "40,3,17,29,8,51,22,13,9,44,40,3,17,29,8,51,22,13,9,44",
                          "--tokens",
                          "6,30,2,41,55,14,27,19,33,7,6,30,2,41,55,14,27,19,33,7",
                          "--score-positions",
                          "11-"};
  const std::string later = "L1H0,L1H1,L1H2,L1H3";
  const json heads = report_of(Words{"ablate"} + repeated + Words{"--heads", later})["rows"];
  EXPECT_GT(heads[0]["interaction"].get<double>(), 1);
  const json all =
      report_of(Words{"ablate"} + repeated + Words{"--heads", "L0H2," + later})["rows"];
  EXPECT_LT(all[0]["interaction"].get<double>(), -1);
}

TEST(CliHeadSets, CumulativeOrdersHeadsByTheirEffectAndAtRandom) {
  const json rows = report_of(Words{"ablate"} + kModel + Words{"--cumulative"})["rows"];
  const json alone = report_of(Words{"ablate"} + kModel + Words{"--components", "heads"})["rows"];
  std::map<std::string, double> effect;
  std::string all;
  for (const json& row : alone) {
    const std::string name = "L" + std::to_string(row["layer"].get<int>()) + "H" +
                             std::to_string(row["head"].get<int>());
    effect[name] = row["loss_increase"];
    all += (all.empty() ? "" : ",") + name;
  }
  const json together = report_of(Words{"ablate"} + kModel + Words{"--heads", all})["rows"][0];
  std::map<std::string, std::set<std::string>> removed;  // per order
  double before = -1e9;
  for (const json& row : rows) {
    const std::string order = row["order"].get<std::string>() + row["draw"].dump();
    EXPECT_TRUE(removed[order].insert(row["heads"]).second);
    EXPECT_EQ(row["removed"], removed[order].size());
    if (row["order"] == "effect") {
      EXPECT_GE(effect[row["heads"]], before - 1e-6);
      before = effect[row["heads"]];
    }
    if (removed[order].size() == effect.size()) {
      EXPECT_NEAR(row["loss_increase"].get<double>(), together["loss_increase"].get<double>(),
                  1e-6);
    }
  }
  EXPECT_EQ(removed.size(), 4U);
  for (const auto& [order, heads] : removed) EXPECT_EQ(heads.size(), effect.size()) << order;
  EXPECT_EQ(rows,
            report_of(Words{"ablate"} + kModel + Words{"--cumulative", "--threads", "1"})["rows"]);
}

TEST(CliHeadSets, AStoreHasThem) {
  const TempFolder folder;
  const Words command = Words{"ablate"} + kModel +
                        Words{"--pairs", "2", "--store", (folder.path() / "runs.sqlite").string()};
  EXPECT_EQ(report_of(command)["rows"], report_of(command)["rows"]);
}

TEST(CliHeadSets, TablesSayWhatIsShown) {
  const std::string sets =
      run_attnscope(Words{"ablate", kShakespeare} + kText + Words{"--heads", "L0H1,2.3", "--quiet"})
          .out;
  EXPECT_TRUE(contains(sets, "L0H1,L2H3")) << sets;
  EXPECT_TRUE(contains(sets, "sum of each alone")) << sets;
  const std::string curve =
      run_attnscope(Words{"ablate", kShakespeare} + kText + Words{"--cumulative", "--quiet"}).out;
  EXPECT_TRUE(contains(curve, "Loss increase at most 100 millinats: up to ")) << curve;
  EXPECT_TRUE(contains(curve, "36 of 36")) << curve;
}

/// The sentence about removable heads is that of the rows.
TEST(CliHeadSets, TheTableCountsRemovableHeadsFromTheRows) {
  const json rows = report_of(Words{"ablate"} + kModel + Words{"--cumulative"})["rows"];
  std::map<std::int64_t, std::pair<double, std::vector<double>>> curve;
  for (const json& row : rows) {
    auto& [by_effect, random] = curve[row["removed"]];
    if (row["order"] == "effect") by_effect = row["loss_increase"];
    if (row["order"] == "random") random.push_back(row["loss_increase"]);
  }
  std::int64_t by_effect = 0, at_random = 0;
  bool effect_holds = true, random_holds = true;
  for (const auto& [removed, increases] : curve) {
    double mean = 0;
    for (const double one : increases.second) mean += one / 3;
    effect_holds &= increases.first <= 0.1;
    random_holds &= mean <= 0.1;
    if (effect_holds) by_effect = removed;
    if (random_holds) at_random = removed;
  }
  const std::string table = run_attnscope(Words{"ablate"} + kModel + Words{"--cumulative"}).out;
  const std::string sentence = "up to " + std::to_string(by_effect) +
                               " of 8 heads ablated by effect, " + std::to_string(at_random) +
                               " at random.";
  EXPECT_TRUE(contains(table, sentence)) << table;
}

TEST(CliHeadSets, TheReportShowsThem) {
  const TempFolder folder;
  const std::filesystem::path charts = folder.path() / "charts";
  const RunResult run = run_attnscope(Words{"report"} + kModel +
                                      Words{"--head-sets", "--quiet", "--charts", charts.string()});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (const char* name : {"ablation-cumulative.svg", "ablation-pairs.svg"}) {
    EXPECT_TRUE(std::filesystem::exists(charts / name)) << name;
  }
}

TEST(CliHeadSets, RefusesWhatItCannotAblate) {
  const struct {
    Words words;
    std::string problem;
  } cases[] = {
      {{"--heads", "L9H0"}, "--heads: "},
      {{"--heads", "L0H99"}, "--heads: "},
      {{"--heads", "0"}, "'0' is not a head"},
      {{"--heads", "L0H0,"}, "is not a head"},
      {{"--heads", "L0H0", "--layers", "1"}, "--layers"},
      {{"--heads", "L0H0", "--components", "mlp"}, "--components"},
      {{"--cumulative", "--pairs", "2"}, "--pairs"},
      {{"--cumulative", "--induction"}, "--induction"},
      {{"--pairs", "1"}, "not an integer from 2"},
      {{"--pairs", "4", "--heads", "L0H0"}, "has one head to ablate"},
  };
  for (const auto& [words, problem] : cases) {
    const RunResult run = run_attnscope(Words{"ablate"} + kModel + words);
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_TRUE(contains(run.err, problem)) << run.err;
  }
}

}  // namespace
}  // namespace attnscope::test
