// The tables that people read: plain or coloured, totals, several models, progress.
#include <regex>

#include "tests/cli/command_line.h"

namespace attnscope::test {
namespace {

/// The words of the only line that starts with `first`.
Words line_with(const std::string& table, const std::string& first) {
  Words found;
  for (const std::string& line : lines_of(table)) {
    const Words words = words_of(line);
    if (words.empty() || words.front() != first) continue;
    EXPECT_TRUE(found.empty()) << "two lines start with " << first << ":\n" << table;
    found = words;
  }
  return found;
}

/// Colours, what a legend says of them and the bars that only they come with taken away, runs of
/// spaces as one and none at the end of a line.
std::string without_style(const std::string& table) {
  const std::string plain = std::regex_replace(table, std::regex("\x1b\\[[0-9;]*m"), "");
  const std::string keyless = std::regex_replace(plain, std::regex("(; |\n)colour: .*"), "");
  const std::string bare = std::regex_replace(keyless, std::regex("(▁|▂|▃|▄|▅|▆|▇|█)"), "");
  return std::regex_replace(std::regex_replace(bare, std::regex(" +"), " "), std::regex(" \n"),
                            "\n");
}

/// A line of a spectrum table: its name, then rank and percentage of each matrix.
void expect_ranks(const Words& line, const std::string& first,
                  const std::vector<std::pair<int, int>>& rank_of_possible) {
  ASSERT_EQ(line.size(), 1 + 2 * rank_of_possible.size()) << "the line of " << first;
  EXPECT_EQ(line.front(), first);
  for (std::size_t index = 0; index < rank_of_possible.size(); ++index) {
    const auto& [rank, possible] = rank_of_possible[index];
    const std::string& percentage = line[2 + 2 * index];
    EXPECT_EQ(line[1 + 2 * index], std::to_string(rank));
    // To the nearest; a half may go either way.
    EXPECT_NEAR(std::stod(percentage), 100.0 * rank / possible, 0.5);
    EXPECT_EQ(percentage.back(), '%');
  }
}

bool has_escapes(const std::string& text) { return contains(text, "\x1b"); }

/// A checkpoint whose spectrum takes long enough for progress to be shown.
std::string slow_model(const TempFolder& folder) {
  constexpr std::int64_t kWidth = 600;
  std::vector<TensorToWrite> tensors;
  json layout = {{"schema", "attnscope-layout/1"},
                 {"layers", 6},
                 {"heads", 1},
                 {"head_dim", kWidth},
                 {"width", kWidth},
                 {"weights", json::array()}};
  layout["weights"].push_back({{"role", "q"}, {"tensor", "q.{layer}"}});
  for (int layer = 0; layer < 6; ++layer) {
    tensors.push_back(random_tensor("q." + std::to_string(layer), {kWidth, kWidth}, 7));
  }
  folder.write("layout.json", layout.dump());
  return folder.write("slow.safetensors", safetensors_bytes(tensors)).string();
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

TEST(CliTable, OfCircuitsShowsEveryThresholdToo) {
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
  EXPECT_EQ(line[4], row["overlap"]["0.5"].dump());
  EXPECT_EQ(line[5], row["overlap"]["0.9"].dump());
  EXPECT_EQ(line[6], row["head_space_overlap"]["0.5"].dump());
  EXPECT_EQ(line[7], row["head_space_overlap"]["0.9"].dump());
}

TEST(CliTable, StaysWithinItsWidth) {
  // Ranks of three digits, heads, several thresholds.
  for (const Words& options : {Words{}, Words{"--per-head"}, Words{"--energy", "0.6,0.8,0.9,0.99"},
                               Words{"--matrix", "q,k,v,o,qk,ov,kv", "--per-head"}}) {
    const std::string table =
        output_of(Words{"spectrum", source_path("examples/shakespeare-llama")} + options);
    for (const std::string& line : lines_of(table)) {
      EXPECT_TRUE(line.size() <= 100 || line.starts_with("Singular values")) << line;
    }
  }
}

TEST(CliTable, ShowsTheShareOfThePossible) {
  const Words command = {"spectrum", data_path("llama"), "--energy", "0.9"};
  const std::string table = output_of(command);
  const json report = report_of(command);
  EXPECT_EQ(line_with(table, "layer"), (Words{"layer", "q", "k", "v", "o", "gate", "up", "down"}));
  for (const int layer : {0, 1}) {
    std::vector<std::pair<int, int>> expected;
    for (const std::string matrix : {"q", "k", "v", "o", "gate", "up", "down"}) {
      const json row = find_row(report["rows"], layer, matrix, nullptr);
      expected.emplace_back(row["energy_rank"]["0.9"], row["possible_rank"]);
    }
    expect_ranks(line_with(table, std::to_string(layer)), std::to_string(layer), expected);
  }
  EXPECT_TRUE(contains(legend_of(table), "0.9")) << legend_of(table);
}

TEST(CliTable, TotalsAddRanksAndPossibleRanks) {
  // Heads are parts of their matrix: they are not added again.
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
      possible += row["possible_rank"].get<int>();
    }
  }
  expect_ranks(line_with(table, "total"), "total", expected);
  EXPECT_TRUE(contains(table, "head 0")) << table;
}

TEST(CliTable, EndsWithALineThatSaysWhatItsNumbersMean) {
  const std::string llama = data_path("llama");
  const struct {
    Words command;
    Words said;
  } cases[] = {
      {{"spectrum", llama, "--energy", "0.8"}, {"0.8", "Singular values", "rank"}},
      {{"spectrum", llama, "--tensor", "lm_head.weight"}, {"0.99", "Singular values", "rank"}},
      {{"spectrum", llama, "--mla"}, {"DeepSeek-V2", "energy", "null"}},
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

TEST(CliTable, HasColourOnATerminalThatCanShowIt) {
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
    const std::string coloured = on_terminal("xterm-256color", std::nullopt);
    EXPECT_TRUE(has_escapes(coloured)) << coloured;
    EXPECT_EQ(without_style(coloured), without_style(plain));
    EXPECT_EQ(on_terminal("xterm-256color", ""), coloured);  // set but empty: not asked for
    EXPECT_EQ(on_terminal("xterm-256color", "1"), plain);
    EXPECT_EQ(on_terminal("dumb", std::nullopt), plain);
    EXPECT_EQ(
        output_of(command, {.out = Reader::terminal, .environment = {{"TERM", std::nullopt}}}),
        plain);
  }
}

/// The table of one matrix with this histogram, as a terminal shows it, without its colours.
std::string table_of_histogram(const TempFolder& folder, const std::vector<int>& counts) {
  TensorToWrite tensor = counting_tensor("w", {16, 16});
  std::vector<float> values;
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    values.insert(values.end(), static_cast<std::size_t>(counts[bin]),
                  static_cast<float>(bin) + 0.5f);
  }
  values.resize(256, -1);  // the others fall outside
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  const json layout = {{"schema", "attnscope-layout/1"},
                       {"layers", 1},
                       {"heads", 1},
                       {"head_dim", 16},
                       {"width", 16},
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
      // The most and the least that each step stands for, of 40.
      {{5, 10, 15, 20, 25, 30, 35, 40}, "▁▂▃▄▅▆▇█"},
      {{40, 31, 26, 21, 16, 11, 6, 1}, "█▇▆▅▄▃▂▁"},
      // Two bins to a bar; one of them may be empty.
      {{8, 0, 1, 6, 6, 0, 0, 5, 4, 0, 1, 2, 2, 0, 0, 1}, "█▇▆▅▄▃▂▁"},
      // Ten bins: the first and the fifth bar have two.
      {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, "█▄▄▄█▄▄▄"},
      // No weight, no bar; fewer bins, fewer bars.
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

TEST(CliTable, DataIsNeverColoured) {
  const TempFolder folder;
  const std::string file = (folder.path() / "table").string(), bert = data_path("bert");
  const RunOptions terminal = {.out = Reader::terminal};
  for (const char* format : {"json", "csv"}) {
    EXPECT_FALSE(has_escapes(output_of({"spectrum", bert, "--format", format}, terminal)));
  }
  EXPECT_EQ(output_of({"spectrum", bert, "--out", file}, terminal), "");
  EXPECT_EQ(read_file(file), output_of({"spectrum", bert}));
}

TEST(CliTable, ErrorsAreNotColoured) {
  expect_refusal({"spectrum", data_path("absent")}, 3, {"absent"}, {.err = Reader::terminal});
}

TEST(CliTable, SaysThePossibleRankAndWhatRandomNumbersNeed) {
  const Words command = {"spectrum", data_path("qwen2"), "--energy",
                         "0.5,0.9",  "--matrix",         "q,k,down,qk"};
  const std::string table = output_of(command);
  const json report = report_of(command);
  Words of = {"of"}, null = {"null"};  // the possible rank once for all thresholds
  for (const char* matrix : {"q", "k", "down", "qk"}) {
    const json row = find_row(report["rows"], 0, matrix, nullptr);
    of.push_back(row["possible_rank"].dump());
    for (const char* threshold : {"0.5", "0.9"}) {
      null.push_back(row["null_energy_rank"][threshold].dump());
    }
  }
  EXPECT_EQ(line_with(table, "of"), of);
  EXPECT_EQ(line_with(table, "null"), null);
}

TEST(CliTable, TellsTheEnergyKeptAtRanks) {
  const Words command = {"spectrum", data_path("llama"), "--matrix", "q,kv", "--rank", "4,0.5D"};
  const std::string table = output_of(command);
  const json rows = report_of(command)["rows"];
  EXPECT_TRUE(contains(table, "\nenergy at")) << table;
  // The ranks' table is the second.
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
  // The model of two layers leaves its places in the third empty.
  EXPECT_EQ(line_with(table, "2"), line_with(of_three, "2"));
}

TEST(CliTable, LettersStandForLongNamesOfModels) {
  const TempFolder folder;
  const std::string table =
      output_of({"spectrum", TinyLlama(1).write(folder, "a-name-of-some-length"),
                 TinyLlama(1, 2).write(folder, "b"), "--matrix", "q", "--energy", "0.9"});
  const Words lines = lines_of(table);
  EXPECT_TRUE(lines[0].starts_with("A  a-name-of-some-length  ")) << table;
  EXPECT_TRUE(lines[1].starts_with("B  b  ")) << table;
  EXPECT_EQ(words_of(lines[4]), (Words{"A", "B"})) << table;
}

TEST(CliTable, BreaksBetweenMatricesWhereModelsAreTooWide) {
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
  // A matrix that only some have has columns of these alone.
  const std::size_t at = table.find("gate");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(table.find("gate", table.find("gate", at + 1) + 1), std::string::npos) << table;
}

TEST(CliTable, ShowsModelsOneAfterAnotherWhereEvenOneMatrixIsTooWide) {
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

TEST(CliTable, InfoPutsTheFactsOfSeveralModelsSideBySide) {
  const std::string table = output_of({"info", data_path("llama"), data_path("bert")});
  EXPECT_EQ(line_with(table, "architecture"), (Words{"architecture", "llama", "bert"}));
  EXPECT_EQ(line_with(table, "layers"), (Words{"layers", "2", "2"}));
  EXPECT_EQ(line_with(table, "width"), (Words{"width", "32", "32"}));
  // One table: tensors are shown of one model alone.
  EXPECT_FALSE(contains(table, "tensors of")) << table;
  EXPECT_TRUE(contains(legend_of(table), "csv")) << table;
  EXPECT_TRUE(contains(output_of({"info", data_path("bert")}), "tensors of bert"));
}

TEST(CliTable, InfoOfManyModelsHasARowForEach) {
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
    EXPECT_EQ(line[3], model["width"].dump());
    EXPECT_EQ(line[4], model["heads"].dump());
    EXPECT_EQ(line[5], model["kv_heads"].dump());
    EXPECT_EQ(line[6], model["head_dim"].dump());
  }
  for (const std::string& line : lines_of(table)) EXPECT_LE(line.size(), 100u) << line;
}

TEST(CliModelName, IsTheNameOfTheFolderOrFile) {
  const TempFolder folder;
  const std::string path = TinyLlama(1).write(folder, "a model");
  const auto name_in = [](const Words& command, const RunOptions& options = {}) {
    return json::parse(output_of(command + Words{"--format", "json"}, options))["rows"][0]["model"];
  };
  EXPECT_EQ(name_in({"spectrum", path}), "a model");
  EXPECT_EQ(name_in({"spectrum", path + "/"}), "a model");
  EXPECT_EQ(name_in({"spectrum", path + "/../a model/."}), "a model");
  EXPECT_EQ(name_in({"spectrum", "."}, {.folder = path}), "a model");
  EXPECT_EQ(name_in({"spectrum", path + "/model.safetensors"}), "model.safetensors");
  EXPECT_EQ(name_in({"spectrum", "model.safetensors"}, {.folder = path}), "model.safetensors");
}

TEST(CliModelName, IsMadeLongerWhereTwoAgree) {
  const TempFolder folder;
  const Words paths = {TinyLlama(1, 1).write(folder, "first/run/final"),
                       TinyLlama(1, 2).write(folder, "second/run/final"),
                       TinyLlama(1, 3).write(folder, "second/other")};
  const Words expected = {"first/run/final", "second/run/final", "other"};
  const json report = report_of(Words{"spectrum", "--matrix", "q"} + paths);
  for (std::size_t index = 0; index < expected.size(); ++index) {
    EXPECT_EQ(report["models"][index]["name"], expected[index]);
    EXPECT_EQ(report["rows"][index]["model"], expected[index]);
    // Each name goes with the numbers of its own model.
    json alone = report_of({"spectrum", "--matrix", "q", paths[index]})["rows"][0];
    alone["model"] = expected[index];
    EXPECT_EQ(report["rows"][index], alone);
  }
  const std::string table = output_of(Words{"spectrum", "--matrix", "q"} + paths);
  for (const std::string& name : expected) EXPECT_TRUE(contains(table, name)) << table;
}

TEST(CliModelName, NeedNotBeUtf8) {
  const TempFolder folder;
  const std::string path = TinyLlama(1).write(folder, "caf\xe9");
  EXPECT_EQ(report_of({"spectrum", path})["models"][0]["name"], "caf\\xe9");
  EXPECT_TRUE(output_of({"spectrum", path}).starts_with("caf\\xe9"));
}

TEST(CliModelName, CannotDriveTheTerminal) {
  const TempFolder folder;
  TinyLlama model(1);
  const std::string hostile =
      "evil\x1b[31m\n\x7f\xc2\x9b"
      "2J";
  model.tensors.push_back(counting_tensor(hostile, {2, 2}));
  const std::string path = model.write(folder, hostile);
  for (const Words& command : {Words{"spectrum", path}, Words{"info", path},
                               Words{"matrix", path, "--layer", "0", "--matrix", "q"},
                               Words{"spectrum", path, "--tensor", hostile}}) {
    SCOPED_TRACE(command.front());
    const std::string table = output_of(command);
    EXPECT_TRUE(contains(table, "evil")) << table;
    for (const char* control : {"\x1b", "\x7f", "\xc2\x9b"}) {
      EXPECT_FALSE(contains(table, control)) << table;
    }
    EXPECT_EQ(json::parse(output_of(command + Words{"--format", "json"}))["models"].size(), 1u);
  }
}

TEST(CliProgress, IsShownOnATerminalWithRateAndTimeLeftAndWipedAtTheEnd) {
  const TempFolder folder;
  const Words command = {"spectrum",  slow_model(folder),
                         "--layout",  (folder.path() / "layout.json").string(),
                         "--threads", "1"};
  const std::string plain = output_of(command);
  const auto on_terminal = [&](const Words& more, const char* no_color = "1") {
    const RunResult run = run_attnscope(
        command + more, {.err = Reader::terminal, .environment = {{"NO_COLOR", no_color}}});
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_EQ(run.out, plain);
    return run.err;
  };
  for (const Words& more : {Words{}, Words{"--progress", "auto"}, Words{"--progress", "always"}}) {
    const std::string line = on_terminal(more);
    for (const char* part : {"of 6 matrices", "MB", "/s", "left"}) {
      EXPECT_TRUE(contains(line, part)) << "lacks " << part << ": " << line;
    }
    EXPECT_FALSE(contains(line, "\n")) << line;
    EXPECT_TRUE(line.ends_with(" \r")) << "traces are left: " << line;
    EXPECT_FALSE(has_escapes(line)) << line;
  }
  const RunResult dumb =
      run_attnscope(command, {.err = Reader::terminal, .environment = {{"TERM", "dumb"}}});
  EXPECT_FALSE(contains(dumb.err, "\r") || has_escapes(dumb.err)) << dumb.err;
  EXPECT_EQ(on_terminal({"--progress", "never"}), "");
  EXPECT_EQ(on_terminal({"--quiet"}), "");

  const RunResult always = run_attnscope(command + Words{"--progress", "always"});
  EXPECT_EQ(always.out, plain);
  EXPECT_FALSE(has_escapes(always.err)) << always.err;
  EXPECT_FALSE(contains(always.err, "\r")) << always.err;
}

}  // namespace
}  // namespace attnscope::test
