// Tables of several models.
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

TEST(CliTable, PutsSeveralModelsSideBySideByLayer) {
  const TempFolder folder;
  const std::string three = TinyLlama(3).write(folder, "three"),
                    two = TinyLlama(2, 7).write(folder, "two");
  const Words options = {"--matrix", "q,o", "--energy", "0.99"};
  const std::string table = output_of(Words{"spectrum", three, two} + options);
  const Words first = lines_of(output_of(Words{"spectrum", three} + options));
  const std::string of_three = output_of(Words{"spectrum", three} + options);
  const std::string of_two = output_of(Words{"spectrum", two} + options);
  EXPECT_TRUE(table.starts_with("three ")) << table;
  EXPECT_TRUE(contains(table, "\ntwo ")) << table;
  EXPECT_EQ(line_with(table, "layer"), (Words{"layer", "q", "q", "o", "o"}));
  EXPECT_TRUE(contains(table, "three")) << table;
  const auto expect_line = [&](const std::string& name) {
    const Words both = line_with(table, name), left = line_with(of_three, name),
                right = line_with(of_two, name);
    ASSERT_EQ(left.size(), 5u);  // its name, then rank and percentage of two matrices
    ASSERT_EQ(right.size(), 5u);
    EXPECT_EQ(both, (Words{name, left[1], left[2], right[1], right[2], left[3], left[4], right[3],
                           right[4]}));
  };
  for (const char* name : {"0", "1", "total"}) expect_line(name);
  // The model with two layers has empty cells in the third row.
  EXPECT_EQ(line_with(table, "2"), line_with(of_three, "2"));
}

TEST(CliTable, LettersReplaceLongModelNames) {
  const TempFolder folder;
  const std::string table =
      output_of({"spectrum", TinyLlama(1).write(folder, "a-name-of-some-length"),
                 TinyLlama(1, 2).write(folder, "b"), "--matrix", "q", "--energy", "0.9"});
  const Words lines = lines_of(table);
  EXPECT_TRUE(lines[0].starts_with("A  a-name-of-some-length  ")) << table;
  EXPECT_TRUE(lines[1].starts_with("B  b  ")) << table;
  EXPECT_EQ(words_of(lines[4]), (Words{"A", "B"})) << table;
}

TEST(CliTable, BreaksBetweenMatricesIfModelsAreTooWide) {
  const std::string table = output_of({"spectrum", data_path("llama"), data_path("bert"),
                                       data_path("gpt2"), data_path("qwen2"), "--energy", "0.99"});
  std::size_t tables = 0;
  for (const std::string& line : lines_of(table)) {
    // The last line is a sentence.
    if (!line.starts_with("Energy rank")) {
      EXPECT_LE(line.size(), 100u) << line;
    }
    tables += line.starts_with("layer");
  }
  EXPECT_GT(tables, 1u);
  // A matrix that only some models have has columns for these models only.
  const std::size_t at = table.find("gate");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(table.find("gate", table.find("gate", at + 1) + 1), std::string::npos) << table;
}

TEST(CliTable, ListsModelsSeparatelyIfOneMatrixIsTooWide) {
  const TempFolder folder;
  Words command = {"spectrum", "--matrix", "q,k"};
  for (char name = 'a'; name <= 'n'; ++name) {
    command.push_back(TinyLlama(1, static_cast<std::uint64_t>(name))
                          .write(folder, "model-" + std::string(1, name)));
  }
  const std::string table = output_of(command);
  EXPECT_TRUE(table.starts_with("model-a ")) << table;
  EXPECT_TRUE(contains(table, "\nmodel-n ")) << table;
  std::size_t totals = 0;
  for (const std::string& line : lines_of(table)) totals += line.starts_with("total");
  EXPECT_EQ(totals, 14u);
}

TEST(CliTable, InfoPutsSeveralModelsSideBySide) {
  const std::string table = output_of({"info", data_path("llama"), data_path("bert")});
  EXPECT_EQ(line_with(table, "architecture"), (Words{"architecture", "llama", "bert"}));
  EXPECT_EQ(line_with(table, "layers"), (Words{"layers", "2", "2"}));
  EXPECT_EQ(line_with(table, "hidden"), (Words{"hidden", "size", "32", "32"}));
  // One table: tensors are listed only for a single model.
  EXPECT_FALSE(contains(table, "tensors of llama")) << table;
  EXPECT_FALSE(contains(table, "tensors of bert")) << table;
  EXPECT_TRUE(contains(legend_of(table), "csv")) << table;
  EXPECT_TRUE(contains(output_of({"info", data_path("bert")}), "tensors of bert"));
}

TEST(CliTable, InfoOfManyModelsHasARowPerModel) {
  Words command = {"info"};
  for (const char* name :
       {"llama", "bert", "gpt2", "gpt_neox", "roberta", "albert", "qwen3", "opt"}) {
    command.push_back(data_path(name));
  }
  const std::string table = output_of(command);
  const json facts = report_of(command)["models"];
  for (const json& model : facts) {
    const Words line = line_with(table, model["name"]);
    ASSERT_GE(line.size(), 6u);
    EXPECT_EQ(line[1], model["architecture"]);
    EXPECT_EQ(line[2], model["layers"].dump());
    EXPECT_EQ(line[3], model["hidden_size"].dump());
    EXPECT_EQ(line[4], model["heads"].dump());
    EXPECT_EQ(line[5], model["kv_heads"].dump());
    EXPECT_EQ(line[6], model["head_dim"].dump());
  }
  for (const std::string& line : lines_of(table)) EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace attnscope::test
