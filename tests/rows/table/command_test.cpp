// Tables in human-readable output: ranks, totals, and legends.
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

/// Checks a line of a spectrum table: its name, then rank and percentage of each matrix.
void expect_ranks(const Words& line, const std::string& first,
                  const std::vector<std::pair<int, int>>& rank_of_possible) {
  ASSERT_EQ(line.size(), 1 + 2 * rank_of_possible.size()) << "the line of " << first;
  EXPECT_EQ(line.front(), first);
  for (std::size_t index = 0; index < rank_of_possible.size(); ++index) {
    const auto& [rank, possible] = rank_of_possible[index];
    const std::string& percentage = line[2 + 2 * index];
    EXPECT_EQ(line[1 + 2 * index], std::to_string(rank));
    // Rounded to the nearest integer; a half may be rounded either way.
    EXPECT_NEAR(std::stod(percentage), 100.0 * rank / possible, 0.5);
    EXPECT_EQ(percentage.back(), '%');
  }
}

TEST(CliTable, ShowsTheRankAtEveryThreshold) {
  const Words command = {"spectrum", data_path("llama"), "--energy", "0.9,0.6,0.3"};
  const Words matrices = {"q", "k", "v", "o"};
  const std::string table = output_of(command + Words{"--matrix", "q,k,v,o"});
  const json report = report_of(command);
  for (const int layer : {0, 1}) {
    const Words line = line_with(table, std::to_string(layer));
    ASSERT_EQ(line.size(), 1 + 4 * matrices.size()) << table;
    for (std::size_t at = 0; at < matrices.size(); ++at) {
      const json row = find_row(report["rows"], layer, matrices[at], nullptr);
      EXPECT_EQ(line[1 + 4 * at], row["energy_rank"]["0.3"].dump());
      EXPECT_EQ(line[2 + 4 * at], row["energy_rank"]["0.6"].dump());
      EXPECT_EQ(line[3 + 4 * at], row["energy_rank"]["0.9"].dump());
    }
  }
  EXPECT_EQ(line_with(table, "rank").size(), 2 + 3 * matrices.size()) << table;
  for (const char* threshold : {"0.3", "0.6", "0.9"}) {
    EXPECT_TRUE(contains(legend_of(table), threshold)) << table;
  }
}

TEST(CliTable, CircuitTablesShowEveryThresholdToo) {
  const Words command = {"circuits", data_path("llama"), "--energy", "0.5,0.9", "--circuit", "qk"};
  const std::string table = output_of(command);
  EXPECT_EQ(line_with(table, "at"), (Words{"at", "0.5", "0.9", "0.5", "0.9", "0.5", "0.9"}));
  const json rows = report_of(command)["rows"];
  json row;
  for (const json& each : rows) {
    if (each["layer"] == 1 && each["head"].is_null()) row = each;
  }
  const Words line = line_with(table, "1");
  ASSERT_GE(line.size(), 8u) << table;
  EXPECT_EQ(line[1], row["energy_rank"]["0.5"].dump());
  EXPECT_EQ(line[2], row["energy_rank"]["0.9"].dump());
  EXPECT_EQ(line[4], row["rank_drop"]["0.5"].dump());
  EXPECT_EQ(line[5], row["rank_drop"]["0.9"].dump());
  EXPECT_EQ(line[6], row["head_space_rank_drop"]["0.5"].dump());
  EXPECT_EQ(line[7], row["head_space_rank_drop"]["0.9"].dump());
}

TEST(CliTable, StaysWithinItsWidth) {
  // Ranks of three digits, heads, several thresholds.
  for (const Words& options : {Words{}, Words{"--per-head"}, Words{"--energy", "0.6,0.8,0.9,0.99"},
                               Words{"--matrix", "q,k,v,o,qk,ov,kv", "--per-head"}}) {
    const std::string table =
        output_of(Words{"spectrum", source_path("examples/shakespeare-llama")} + options);
    for (const std::string& line : lines_of(table)) {
      EXPECT_TRUE(line.size() <= 100 || line.starts_with("Number of singular values")) << line;
    }
  }
}

TEST(CliTable, ShowsTheShareOfTheMaximumPossibleRank) {
  const Words command = {"spectrum", data_path("llama"), "--energy", "0.9"};
  const std::string table = output_of(command);
  const json report = report_of(command);
  EXPECT_EQ(line_with(table, "layer"), (Words{"layer", "q", "k", "v", "o", "gate", "up", "down"}));
  for (const int layer : {0, 1}) {
    std::vector<std::pair<int, int>> expected;
    for (const std::string matrix : {"q", "k", "v", "o", "gate", "up", "down"}) {
      const json row = find_row(report["rows"], layer, matrix, nullptr);
      expected.emplace_back(row["energy_rank"]["0.9"], row["max_possible_rank"]);
    }
    expect_ranks(line_with(table, std::to_string(layer)), std::to_string(layer), expected);
  }
  EXPECT_TRUE(contains(legend_of(table), "0.9")) << legend_of(table);
}

TEST(CliTable, TotalsAddRanksAndMaximumPossibleRanks) {
  // Heads are parts of their matrix, so they are not added again.
  const Words command = {"spectrum", data_path("qwen2"), "--per-head", "--matrix",
                         "q,k,down", "--energy",         "0.99"};
  const std::string table = output_of(command);
  const json report = report_of(command);
  std::vector<std::pair<int, int>> expected;
  for (const std::string matrix : {"q", "k", "down"}) {
    auto& [rank, possible] = expected.emplace_back(0, 0);
    for (const int layer : {0, 1}) {
      const json row = find_row(report["rows"], layer, matrix, nullptr);
      rank += row["energy_rank"]["0.99"].get<int>();
      possible += row["max_possible_rank"].get<int>();
    }
  }
  expect_ranks(line_with(table, "total"), "total", expected);
  EXPECT_TRUE(contains(table, "head 0")) << table;
}

TEST(CliTable, EndsWithALegend) {
  const std::string llama = data_path("llama");
  const struct {
    Words command;
    Words said;
  } cases[] = {
      {{"spectrum", llama, "--energy", "0.8"}, {"0.8", "singular values", "rank"}},
      {{"spectrum", llama, "--tensor", "lm_head.weight"}, {"0.99", "singular values", "rank"}},
      {{"spectrum", llama, "--mla"}, {"DeepSeek-V2", "energy", "random"}},
      {{"info", llama}, {"Shapes", "stored"}},
      {{"matrix", llama, "--layer", "0", "--matrix", "q"}, {"rows are outputs"}},
  };
  for (const auto& [command, said] : cases) {
    const std::string line = legend_of(output_of(command));
    for (const std::string& part : said) EXPECT_TRUE(contains(line, part)) << line;
  }
}

TEST(CliTable, IsTheDefault) {
  const Words command = {"spectrum", data_path("bert")};
  EXPECT_EQ(output_of(command), output_of(command + Words{"--format", "table"}));
}

TEST(CliTable, ShowsTheMaximumPossibleRankAndTheRandomBaseline) {
  const Words command = {"spectrum", data_path("qwen2"), "--energy",
                         "0.5,0.9",  "--matrix",         "q,k,down,qk"};
  const std::string table = output_of(command);
  const json report = report_of(command);
  Words of = {"of"}, random = {"random"};  // the maximum possible rank, once for all thresholds
  for (const char* matrix : {"q", "k", "down", "qk"}) {
    const json row = find_row(report["rows"], 0, matrix, nullptr);
    of.push_back(row["max_possible_rank"].dump());
    for (const char* threshold : {"0.5", "0.9"}) {
      random.push_back(row["random_energy_rank"][threshold].dump());
    }
  }
  EXPECT_EQ(line_with(table, "of"), of);
  EXPECT_EQ(line_with(table, "random"), random);
}

TEST(CliTable, ShowsTheEnergyKeptAtRanks) {
  const Words command = {"spectrum", data_path("llama"), "--matrix", "q,kv", "--rank", "4,0.5D"};
  const std::string table = output_of(command);
  const json rows = report_of(command)["rows"];
  EXPECT_TRUE(contains(table, "\nenergy at")) << table;
  // The table of ranks is the second.
  const std::string second = table.substr(table.rfind("\nlayer"));
  EXPECT_EQ(line_with(second, "energy"), (Words{"energy", "at", "4", "0.5D", "4", "0.5D"}));
  for (const int layer : {0, 1}) {
    const Words line = line_with(second, std::to_string(layer));
    ASSERT_EQ(line.size(), 5u);
    std::size_t at = 1;
    for (const char* matrix : {"q", "kv"}) {
      for (const char* rank : {"4", "0.5D"}) {
        const double share = find_row(rows, layer, matrix, nullptr)["energy_at_rank"][rank];
        EXPECT_NEAR(std::stod(line[at++]), 100 * share, 0.05 + 1e-9);
      }
    }
  }
}

}  // namespace
}  // namespace attnscope::test
