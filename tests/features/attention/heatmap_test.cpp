// `attention --heatmap` and `--maps`: attention maps as rows, as text heat maps, and in a file.
#include <regex>

#include "tests/features/attention/attention_model.h"
#include "tests/support/stored_tensor.h"

namespace attnscope::test {
namespace {

class AttentionMaps : public testing::Test {
 protected:
  std::string file(const std::string& name = "maps.safetensors") const {
    return (folder_.path() / name).string();
  }
  /// Tensors that --maps saved. Checks that the printed rows are the same as without it.
  json saved_beside(const Words& command, const Words& options = {}) const {
    EXPECT_EQ(output_of(command + Words{"--maps", file()} + options), output_of(command));
    return tensor_headers(file());
  }
  std::vector<double> weights(const Words& command, int layer, int head) const {
    std::vector<double> all;
    const std::string place = std::to_string(layer) + "," + std::to_string(head);
    const json report = report_of(command + Words{"--heatmap", place});
    for (const json& row : report["rows"]) {
      for (const json& weight : row["weights"]) all.push_back(weight);
    }
    return all;
  }

  TempFolder folder_;
  const std::vector<std::uint16_t> tokens_ = random_tokens(36, 48);
  const std::string shard_ = folder_.write("tokens.bin", shard_bytes(tokens_)).string();
  const Words windows_ = {"--token-file", shard_, "--sequences", "3", "--length", "12"};
};

/// One map of a saved tensor (L, H, T, T).
std::vector<double> part(const StoredTensor& tensor, std::int64_t layer, std::int64_t head) {
  const auto size = static_cast<std::ptrdiff_t>(tensor.shape[2] * tensor.shape[3]);
  const auto first = tensor.values.begin() + (layer * tensor.shape[1] + head) * size;
  return {first, first + size};
}

TEST_F(AttentionMaps, RowsContainTheAttentionOfEachQuery) {
  const json report =
      report_of({"attention", tiny_model("gpt2"), "--tokens", "5,7,11,13", "--heatmap", "-1,2"});
  EXPECT_EQ(report["parameters"]["heatmap"], json::array({-1, 2}));
  ASSERT_EQ(report["rows"].size(), 4u);
  for (std::size_t query = 0; query < 4; ++query) {
    const json& row = report["rows"][query];
    EXPECT_EQ(row["layer"], 2);
    EXPECT_EQ(row["head"], 2);
    EXPECT_EQ(row["query"], query);
    EXPECT_EQ(row["text"], nullptr) << "it has no tokenizer";
    double sum = 0;
    for (std::size_t key = 0; key < 4; ++key) {
      const double weight = row["weights"][key];
      EXPECT_EQ(weight > 0, key <= query);
      sum += weight;
    }
    EXPECT_NEAR(sum, 1, 1e-6);
  }
  EXPECT_EQ(report["rows"][3]["token"], 13);
  const json text = report_of({"attention", kShakespeare, "--text", "To be", "--heatmap", "0,0"});
  EXPECT_EQ(text["rows"][0]["text"], "To");
}

TEST_F(AttentionMaps, AreDrawnInCharactersWithoutColor) {
  const Words command = {"attention", tiny_model("gpt2"), "--tokens", "5,7,11,13"};
  const Words lines = lines_of(output_of(command + Words{"--heatmap", "0,0"}));
  Words rows;
  for (const std::string& line : lines) {
    if (std::regex_search(line, std::regex("^[0-3] (5|7|11|13) "))) rows.push_back(line);
  }
  ASSERT_EQ(rows.size(), 4u);
  // Index, token, and two characters per weight; nothing above the diagonal.
  const std::string all = " .:-=+*#%@";
  for (std::size_t query = 0; query < 4; ++query) {
    const std::string cells = rows[query].substr(13);
    EXPECT_LE(cells.size(), 2 * (query + 1)) << rows[query];
    EXPECT_EQ(cells.find_first_not_of(all), std::string::npos) << rows[query];
  }
  EXPECT_EQ(rows[0].substr(13), "@@") << "all of the first query's weight is on itself";
  const std::string table = output_of(command + Words{"--heatmap", "0,0", "--log"});
  EXPECT_TRUE(contains(table, "logarithmic")) << table;
  EXPECT_FALSE(contains(table, "\x1b"));
}

TEST_F(AttentionMaps, AreDrawnInTheColorsOfTheTerminal) {
  const Words command = {"attention", tiny_model("gpt2"), "--tokens", "5,7,11", "--heatmap", "0,0"};
  const std::string usual =
      output_of(command, {.out = Reader::terminal, .environment = {{"COLORTERM", std::nullopt}}});
  EXPECT_TRUE(contains(usual, "▀"));
  EXPECT_TRUE(contains(usual, "\x1b[38;5;") || contains(usual, ";5;")) << usual;
  EXPECT_FALSE(contains(usual, "38;2;"));
  const std::string full =
      output_of(command, {.out = Reader::terminal, .environment = {{"COLORTERM", "truecolor"}}});
  EXPECT_TRUE(contains(full, "38;2;"));
  EXPECT_FALSE(contains(
      output_of(command, {.out = Reader::terminal, .environment = {{"NO_COLOR", "1"}}}), "▀"));
}

TEST_F(AttentionMaps, SaveTheFirstSequenceInAFile) {
  const Words command = Words{"attention", tiny_model("gpt2")} + windows_;
  const json headers = saved_beside(command);
  EXPECT_EQ(keys_of(headers), (Words{"attentions", "layers", "tokens"}));
  EXPECT_EQ(headers["attentions"]["dtype"], "F32");
  EXPECT_EQ(headers["attentions"]["shape"], json::array({3, 3, 12, 12}));
  EXPECT_EQ(headers["tokens"]["shape"], json::array({1, 12}));
  const StoredTensor maps = stored_tensor(file(), "attentions");
  const std::vector<std::uint16_t> first(tokens_.begin(), tokens_.begin() + 12);
  EXPECT_EQ(part(maps, 2, 1),
            weights({"attention", tiny_model("gpt2"), "--tokens", ids_text(first)}, 2, 1));

  const json some = saved_beside(command + Words{"--layers", "0,2"});
  EXPECT_EQ(some["attentions"]["shape"], json::array({2, 3, 12, 12}));
  EXPECT_EQ(part(stored_tensor(file(), "attentions"), 1, 1), part(maps, 2, 1));
}

TEST_F(AttentionMaps, AverageAllSequences) {
  const Words command = Words{"attention", tiny_model("gpt2")} + windows_;
  const json headers = saved_beside(command, {"--maps-of", "mean"});
  EXPECT_EQ(headers["tokens"]["shape"], json::array({3, 12}));
  const std::vector<double> mean = part(stored_tensor(file(), "attentions"), 1, 2);
  std::vector<double> sum(mean.size());
  for (std::size_t window = 0; window < 3; ++window) {
    const auto first = tokens_.begin() + static_cast<std::ptrdiff_t>(12 * window);
    const std::vector<double> one =
        weights({"attention", tiny_model("gpt2"), "--tokens",
                 ids_text(std::vector<std::uint16_t>(first, first + 12))},
                1, 2);
    for (std::size_t at = 0; at < sum.size(); ++at) sum[at] += one[at];
  }
  for (std::size_t at = 0; at < sum.size(); ++at) EXPECT_NEAR(mean[at], sum[at] / 3, 1e-6);

  const std::string bytes = read_file(file());
  for (const std::string threads : {"1", "2", "3"}) {
    output_of(command + Words{"--maps", file(), "--maps-of", "mean", "--threads", threads});
    EXPECT_EQ(read_file(file()), bytes) << threads << " threads";
  }
}

TEST_F(AttentionMaps, RejectRunsThatCannotBeShown) {
  const Words command = {"attention", tiny_model("gpt2"), "--tokens", "1,2,3"};
  expect_refusal(command + Words{"--heatmap", "3,0"}, kUsage, {"--heatmap", "layers 0 to 2"});
  expect_refusal(command + Words{"--heatmap", "0,3"}, kUsage, {"--heatmap", "heads 0 to 2"});
  expect_refusal(command + Words{"--heatmap", "0"}, kUsage, {"--heatmap"});
  expect_refusal(command + Words{"--heatmap", "0,0", "--store", file("a.sqlite")}, kUsage,
                 {"--heatmap", "--store"});
  expect_refusal(Words{"attention", tiny_model("gpt2"), tiny_model("llama"), "--tokens", "1",
                       "--maps", file()},
                 kUsage, {"--maps", "a single model"});
  expect_refusal(Words{"attention", tiny_model("gpt2")} + windows_ +
                     Words{"--maps", file(), "--maps-of", "mean", "--memory", "1K"},
                 kUsage, {"--maps", "--memory", "--layers"});
  expect_refusal(command + Words{"--maps", file("same"), "--out", file("same")}, kUsage,
                 {"--maps", "--out"});
  EXPECT_FALSE(std::filesystem::exists(file()));
}

}  // namespace
}  // namespace attnscope::test
