// --store: the same output as without it, and views that contain the rows.
#include "attnscope/base/text.h"
#include "tests/features/attention/attention_model.h"
#include "tests/support/store_command.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

TEST_F(CliStore, EveryCommandPrintsTheSameBytesComputedFoundAndExported) {
  const std::string llama = data_path("llama"), gpt2 = data_path("gpt2"), qwen = data_path("qwen2"),
                    albert = data_path("albert");
  const Words commands[] = {
      {"spectrum", llama, gpt2, "--per-head"},
      {"spectrum", albert, "--matrix", "o,q,qk,kv", "--values", "--rank", "3,0.5D"},
      {"spectrum", llama, "--layers", "-1", "--energy", "0.5"},
      {"spectrum", llama, qwen, "--mla"},
      {"spectrum", llama, "--tensor", "lm_head.weight"},
      {"circuits", llama, gpt2},
      {"circuits", qwen, "--with-bias", "--fold-norm", "--rope-offset", "-1", "--circuit", "qk"},
      {"circuits", llama, gpt2, "--composition"},
      {"weights", gpt2, "--per-head", "--histogram"},
      {"weights", llama, "--histogram", "--bins", "fd", "--matrix", "v,gate"},
      {"similarity", llama, gpt2, "--histogram"},
      {"similarity", llama, "--overlap"},
      {"similarity", llama, "--head-matrix", "0,1", "--matrix", "q"},
  };
  for (const Words& command : commands) {
    SCOPED_TRACE(command_text(command));
    fs::remove(store());
    for (const std::string format : {"json", "csv", "table"}) {
      const Words asked = command + Words{"--format", format};
      const std::string plain = output_of(asked);
      EXPECT_EQ(output_of(stored(asked)), plain);
      EXPECT_EQ(exported({"--format", format}), plain);
    }
    // Of three runs, only the first computed items.
    EXPECT_GT(items(), 0);
    EXPECT_EQ(number("SELECT computed FROM runs WHERE id = 1"), items());
    EXPECT_EQ(number("SELECT sum(computed) FROM runs"), items());
    EXPECT_EQ(number("SELECT count(*) FROM runs WHERE found = (SELECT count(*) FROM items)"), 2);
  }
}

TEST_F(CliStore, AllCommandsShareOneStore) {
  const std::string llama = data_path("llama");
  const Words commands[] = {{"spectrum", llama},
                            {"spectrum", llama, "--mla"},
                            {"circuits", llama},
                            {"circuits", llama, "--composition"},
                            {"weights", llama},
                            {"similarity", llama},
                            {"similarity", llama, "--overlap"},
                            {"similarity", llama, "--head-matrix", "0,1"}};
  for (const Words& command : commands) output_of(stored(command));
  long set = 0;
  for (const Words& command : commands) {
    EXPECT_EQ(exported({"--set", std::to_string(++set)}), output_of(command));
  }
  const std::string forward = data_path("forward/gpt2");
  output_of(stored({"attention", forward, "--tokens", "3,1,4,1,5"}));
  output_of(stored({"attention", forward, "--induction", "--length", "8"}));
  for (const std::string view :
       {"spectrum", "mla", "circuits", "composition", "weights", "similarity", "head_overlap",
        "head_matrix", "attention", "attention_maps", "induction", "sources"}) {
    EXPECT_GT(number("SELECT count(*) FROM " + view), 0) << view;
  }
}

TEST_F(CliStore, ViewsContainTheRows) {
  const Words command = {"spectrum", data_path("llama"), data_path("gpt2"), "--per-head"};
  const json report = json::parse(output_of(stored(command + Words{"--format", "json"})));
  const auto rows = query(store(),
                          "SELECT model, layer, matrix, ifnull(head, ''), "
                          "\"energy_rank_0.9\", max_possible_rank, shape_0 FROM spectrum");
  ASSERT_EQ(rows.size(), report["rows"].size());
  for (const auto& row : rows) {
    const bool found =
        std::any_of(report["rows"].begin(), report["rows"].end(), [&](const json& wanted) {
          const json& head = wanted["head"];
          return wanted["model"] == row[0] && wanted["layer"].dump() == row[1] &&
                 wanted["matrix"] == row[2] && (head.is_null() ? "" : head.dump()) == row[3] &&
                 wanted["energy_rank"]["0.9"].dump() == row[4] &&
                 wanted["max_possible_rank"].dump() == row[5] &&
                 wanted["shape"][0].dump() == row[6];
        });
    EXPECT_TRUE(found) << row[0] << " " << row[1] << " " << row[2] << " " << row[3];
  }
  output_of(stored({"circuits", data_path("llama")}));
  output_of(stored({"weights", data_path("llama")}));
  output_of(stored({"similarity", data_path("llama")}));
  for (const std::string column :
       {"circuits.identity_cosine", "weights.\"quantiles_0.5\"", "similarity.mean",
        "circuits.\"energy_rank_0.99\"", "sources.hash"}) {
    const std::string view = column.substr(0, column.find('.'));
    EXPECT_GT(number("SELECT count(" + column + ") FROM " + view), 0) << column;
  }
}

/// The means in a view equal the printed ones up to rounding.
void expect_means(const json& rows, const std::vector<std::vector<std::string>>& of_view,
                  const Words& fields) {
  std::size_t found = 0;
  for (const json& row : rows) {
    for (const auto& cells : of_view) {
      const std::string head = row["head"].is_null() ? "" : row["head"].dump();
      if (cells[0] != row["layer"].dump() || cells[1] != head) continue;
      ++found;
      for (std::size_t at = 0; at < fields.size(); ++at) {
        if (!row.contains(fields[at])) continue;
        EXPECT_NEAR(std::stod(cells[2 + at]), row[fields[at]].get<double>(), 1e-12) << fields[at];
      }
    }
  }
  EXPECT_EQ(found, rows.size());
  EXPECT_EQ(found, of_view.size());
}

TEST_F(CliStore, ViewsOfAttentionContainTheMeans) {
  const std::string shard = folder_.write("t.bin", shard_bytes(random_tokens(1200, 48))).string();
  // Windows of 8 tokens form two batches.
  const Words windows = {"--token-file", shard, "--length", "8", "--sequences", "70"};
  const Words command = Words{"attention", tiny_model("gpt2"), "--format", "json"} + windows;
  const json rows = json::parse(output_of(stored(command)))["rows"];
  EXPECT_GT(items(), 1);
  const Words fields = {"sequences",          "energy_rank",   "energy_columns",
                        "first_column_share", "entropy",       "sink_mass",
                        "previous_token",     "current_token", "mean_distance",
                        "learned_sink_mass",  "mean_max_rank", "mean_energy_columns"};
  expect_means(rows, query(store(), "SELECT layer, head, " + join(fields) + " FROM attention"),
               fields);
  EXPECT_EQ(number("SELECT count(DISTINCT sequence) FROM attention_maps"), 70);
  EXPECT_EQ(number("SELECT max(sequence) FROM attention_maps"), 69);
  const Words induction = {"attention", tiny_model("gpt2"), "--induction", "--length",
                           "8",         "--format",         "json"};
  const Words scores = {"induction", "duplicate_token"};
  const json scored = json::parse(output_of(stored(induction)))["rows"];
  expect_means(scored, query(store(), "SELECT layer, head, " + join(scores) + " FROM induction"),
               scores);
}

TEST_F(CliStore, AMeasureThatDoesNotApplyIsNull) {
  output_of(stored({"attention", tiny_model("gpt2"), "--tokens", "3"}));
  EXPECT_EQ(number("SELECT count(*) FROM attention WHERE head IS NOT NULL"),
            number("SELECT count(*) FROM attention WHERE previous_token IS NULL AND head >= 0"));
}

TEST_F(CliStore, DocumentedQueriesRunAndSkipNulls) {
  TinyLlama broken(2);
  set_element(broken.attention(0, 'k'), 0, 0, std::numeric_limits<float>::quiet_NaN());
  const std::string nan = broken.write(folder_, "nan"), llama = data_path("llama");
  output_of(stored({"spectrum", nan, llama}));
  output_of(stored({"spectrum", llama, "--energy", "0.5"}));
  output_of(stored({"circuits", nan, llama}));
  output_of(stored({"attention", tiny_model("gpt2"), "--tokens", "3,1,4"}));
  const std::string text = read_file(source_path("docs/store.md"));
  const std::size_t begin = text.find("```sql\n") + 7;
  std::string block = text.substr(begin, text.find("```", begin) - begin);
  int queries = 0;
  for (std::size_t end = block.find(";\n"); end != std::string::npos; end = block.find(";\n")) {
    const std::string sql = block.substr(0, end);
    block.erase(0, end + 2);
    const auto rows = query(store(), sql);
    ASSERT_FALSE(rows.empty()) << sql;
    ++queries;
    if (!contains(sql, "ORDER BY")) continue;
    EXPECT_NE(rows.front().back(), "") << sql;
  }
  EXPECT_GE(queries, 6);
}

}  // namespace
}  // namespace attnscope::test
