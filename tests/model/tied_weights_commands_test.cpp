// Layers that share a matrix: reports list the sharing, and totals count the matrix once.
#include <set>

#include "tests/support/program.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

const json kAll = {"q", "k", "v", "o", "up", "down", "qk", "ov", "kv"};

/// A model of three layers. The last two use the W_Q of the first layer. The third has its own W_K,
/// stored under the name of the second layer's W_K.
std::string tied_by_name(const TempFolder& folder) {
  TinyLlama model(3);
  const auto tie = [&](std::int64_t layer, char matrix, std::int64_t to) {
    const std::string name = TinyLlama::attention_name(layer, matrix);
    std::erase_if(model.tensors, [&](const TensorToWrite& each) { return each.name == name; });
    model.metadata[name] = TinyLlama::attention_name(to, matrix);
  };
  tie(1, 'q', 0);
  tie(2, 'q', 0);
  tie(2, 'k', 1);
  return model.write(folder, "tied");
}

int total_of(const Words& command, const std::string& matrix) {
  for (const std::string& line :
       lines_of(output_of(command + Words{"--matrix", matrix, "--energy", "0.9"}))) {
    const Words words = words_of(line);
    if (!words.empty() && words.front() == "total") return std::stoi(words.at(1));
  }
  return -1;
}

int rank_of(const json& rows, int layer, const std::string& matrix) {
  return find_row(rows, layer, matrix, nullptr)["energy_rank"]["0.9"];
}

TEST(CliSharedWeights, AreListedInModelInfo) {
  // Two groups of two layers.
  const json albert = {{{"matrices", kAll}, {"layers", {0, 1}}},
                       {{"matrices", kAll}, {"layers", {2, 3}}}};
  for (const std::string command : {"spectrum", "info", "circuits", "weights"}) {
    EXPECT_EQ(report_of({command, data_path("albert")})["models"][0]["shared_weights"], albert);
    EXPECT_FALSE(report_of({command, data_path("bert")})["models"][0].contains("shared_weights"));
  }
}

TEST(CliSharedWeights, MayCoverOnlySomeRoles) {
  const TempFolder folder;
  const json models = report_of({"spectrum", tied_by_name(folder)})["models"];
  EXPECT_EQ(models[0]["shared_weights"], json({{{"matrices", {"q"}}, {"layers", {0, 1, 2}}},
                                               {{"matrices", {"k", "qk"}}, {"layers", {1, 2}}}}));
}

TEST(CliSharedWeights, EqualBytesAreNotShared) {
  const TempFolder folder;
  TinyLlama model(2);
  model.attention(1, 'q').bytes = model.attention(0, 'q').bytes;
  const json models = report_of({"spectrum", model.write(folder, "m")})["models"];
  EXPECT_FALSE(models[0].contains("shared_weights"));
}

TEST(CliSharedWeights, TotalsCountThemOnce) {
  const TempFolder folder;
  const Words tied = {"spectrum", tied_by_name(folder)}, albert = {"spectrum", data_path("albert")};
  const json rows = report_of(tied + Words{"--energy", "0.9"})["rows"];
  EXPECT_EQ(total_of(tied, "q"), rank_of(rows, 0, "q"));
  EXPECT_EQ(total_of(tied, "k"), rank_of(rows, 0, "k") + rank_of(rows, 1, "k"));
  EXPECT_EQ(total_of(tied, "v"),
            rank_of(rows, 0, "v") + rank_of(rows, 1, "v") + rank_of(rows, 2, "v"));
  const json shared = report_of(albert + Words{"--energy", "0.9"})["rows"];
  EXPECT_EQ(total_of(albert, "q"), rank_of(shared, 0, "q") + rank_of(shared, 2, "q"));
  EXPECT_EQ(total_of(albert + Words{"--layers", "1,2,3"}, "q"),
            rank_of(shared, 1, "q") + rank_of(shared, 2, "q"));
}

TEST(CliSharedWeights, ShowsPairsOfSharedHeadsOnce) {
  // Four layers in two groups. Pairs: 0 to 1, 0 to 2 (also 0 to 3, 1 to 2 and 1 to 3), and 2 to 3.
  const std::set<std::pair<std::string, std::string>> distinct = {
      {"0", "1"}, {"0", "2"}, {"2", "3"}};
  const std::string table = output_of({"circuits", data_path("albert"), "--composition"});
  for (const std::string& line : lines_of(table)) {
    if (!line.starts_with("layer ")) continue;
    const Words words = words_of(line);  // layer 0 head 3 layer 2 head 2 …
    EXPECT_TRUE(distinct.contains({words.at(1), words.at(5)})) << line;
  }
  EXPECT_TRUE(contains(table, "of 144 distinct pairs")) << table;
}

}  // namespace
}  // namespace attnscope::test
