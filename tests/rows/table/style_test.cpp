// Tables with and without color, and the histogram bars that only a terminal shows.
#include <cstring>
#include <regex>

#include "tests/support/program.h"
#include "tests/support/safetensors_writer.h"

namespace attnscope::test {
namespace {

/// Removes colors, their legend and the bars. Merges runs of spaces, and removes them at line ends.
std::string without_style(const std::string& table) {
  const std::string plain = std::regex_replace(table, std::regex("\x1b\\[[0-9;]*m"), "");
  const std::string keyless = std::regex_replace(plain, std::regex("(; |\n)color: .*"), "");
  const std::string bare = std::regex_replace(keyless, std::regex("(▁|▂|▃|▄|▅|▆|▇|█)"), "");
  return std::regex_replace(std::regex_replace(bare, std::regex(" +"), " "), std::regex(" \n"),
                            "\n");
}

TEST(CliTable, IsPlainInAPipe) {
  const std::string llama = data_path("llama");
  for (const Words& command :
       {Words{"spectrum", llama, "--per-head"}, Words{"info", llama},
        Words{"matrix", llama, "--layer", "0", "--matrix", "q"}, Words{"info", "--system"}}) {
    const std::string table = output_of(command);
    EXPECT_TRUE(std::all_of(table.begin(), table.end(), [](char c) {
      return c == '\n' || (c >= ' ' && c <= '~');
    })) << table;
  }
}

TEST(CliTable, HasColorOnATerminalThatSupportsIt) {
  const std::string llama = data_path("llama");
  for (const Words& command :
       {Words{"spectrum", llama, "--per-head"},
        Words{"spectrum", llama, "--tensor", "lm_head.weight"}, Words{"info", llama},
        Words{"spectrum", llama, data_path("bert"), "--matrix", "q,k", "--rank", "3"},
        Words{"spectrum", llama, "--mla"},
        Words{"matrix", llama, "--layer", "0", "--matrix", "q"}}) {
    SCOPED_TRACE(command_text(command));
    const std::string plain = output_of(command);
    const auto on_terminal = [&](const char* terminal, std::optional<std::string> no_color) {
      return output_of(command, {.out = Reader::terminal,
                                 .environment = {{"TERM", terminal}, {"NO_COLOR", no_color}}});
    };
    const std::string colored = on_terminal("xterm-256color", std::nullopt);
    EXPECT_TRUE(has_escapes(colored)) << colored;
    EXPECT_EQ(without_style(colored), without_style(plain));
    EXPECT_EQ(on_terminal("xterm-256color", ""), colored);  // set but empty: not requested
    EXPECT_EQ(on_terminal("xterm-256color", "1"), plain);
    EXPECT_EQ(on_terminal("dumb", std::nullopt), plain);
    EXPECT_EQ(
        output_of(command, {.out = Reader::terminal, .environment = {{"TERM", std::nullopt}}}),
        plain);
  }
}

/// The table of one matrix with this histogram on a terminal, without colors.
std::string table_of_histogram(const TempFolder& folder, const std::vector<int>& counts) {
  TensorToWrite tensor = counting_tensor("w", {16, 16});
  std::vector<float> values;
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    values.insert(values.end(), static_cast<std::size_t>(counts[bin]),
                  static_cast<float>(bin) + 0.5f);
  }
  values.resize(256, -1);  // the others are outside the range
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  const json layout = {{"schema", "attnscope-layout/1"},
                       {"layers", 1},
                       {"heads", 1},
                       {"head_dim", 16},
                       {"hidden_size", 16},
                       {"weights", {{{"role", "q"}, {"tensor", "w"}}}}};
  const std::string bins = std::to_string(counts.size());
  const std::string table =
      output_of({"weights", folder.write("w.safetensors", safetensors_bytes({tensor})).string(),
                 "--layout", folder.write("layout.json", layout.dump()).string(), "--histogram",
                 "--bins", bins, "--range", "0," + bins},
                {.out = Reader::terminal});
  return std::regex_replace(table, std::regex("\x1b\\[[0-9;]*m"), "");
}

TEST(CliTable, BarsShowTheShapeOfAHistogramInEightSteps) {
  const TempFolder folder;
  const struct {
    std::vector<int> counts;
    std::string bars;
  } cases[] = {
      // The largest and smallest count for each step, out of 40.
      {{5, 10, 15, 20, 25, 30, 35, 40}, "▁▂▃▄▅▆▇█"},
      {{40, 31, 26, 21, 16, 11, 6, 1}, "█▇▆▅▄▃▂▁"},
      // Two bins per bar; one of them may be empty.
      {{8, 0, 1, 6, 6, 0, 0, 5, 4, 0, 1, 2, 2, 0, 0, 1}, "█▇▆▅▄▃▂▁"},
      // Ten bins: the first and the fifth bar have two bins.
      {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, "█▄▄▄█▄▄▄"},
      // No bar without weights, and fewer bars for fewer bins.
      {{8, 0, 1}, "█ ▁"},
      {{0, 9, 0}, " █ "},
  };
  for (const auto& [counts, bars] : cases) {
    const std::string table = table_of_histogram(folder, counts);
    std::string shown;
    for (const std::string& line : lines_of(table)) {
      const std::size_t at = line.find("±");
      if (at != std::string::npos) shown = line.substr(line.find(' ', at) + 1);
      if (!shown.empty()) break;
    }
    EXPECT_EQ(shown.substr(0, shown.find_last_not_of(' ') + 1),
              bars.substr(0, bars.find_last_not_of(' ') + 1))
        << table;
  }
}

TEST(CliTable, DataIsNeverColored) {
  const TempFolder folder;
  const std::string file = (folder.path() / "table").string(), bert = data_path("bert");
  const RunOptions terminal = {.out = Reader::terminal};
  for (const char* format : {"json", "csv"}) {
    EXPECT_FALSE(has_escapes(output_of({"spectrum", bert, "--format", format}, terminal)));
  }
  EXPECT_EQ(output_of({"spectrum", bert, "--out", file}, terminal), "");
  EXPECT_EQ(read_file(file), output_of({"spectrum", bert}));
}

TEST(CliTable, ErrorsAreNotColored) {
  expect_refusal({"spectrum", data_path("absent")}, 3, {"absent"}, {.err = Reader::terminal});
}

}  // namespace
}  // namespace attnscope::test
