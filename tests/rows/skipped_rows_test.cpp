// Matrices that cannot be analyzed are skipped and listed. The others are unchanged.
#include <limits>
#include <set>

#include "attnscope/base/text.h"
#include "tests/support/program.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

constexpr float kSkippedNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

/// "0 q -" for the whole matrix q of layer 0, "0 q 1" for its head 1.
std::string place_of(const json& entry) {
  return entry["layer"].dump() + " " + entry["matrix"].get<std::string>() + " " +
         (entry["head"].is_null() ? "-" : entry["head"].dump());
}

std::set<std::string> places_of(const json& entries) {
  std::set<std::string> places;
  for (const json& entry : entries) places.insert(place_of(entry));
  return places;
}

const Words kPerHead = {"--per-head", "--matrix", "q,k,v,o,up,qk,ov"};

/// Checks that rows of `broken` equal those of `audio` to the last digit, except the skipped ones.
void expect_only_skipped(const Words& command, const std::string& broken, const std::string& audio,
                         const std::set<std::string>& skipped) {
  const json report = report_of(Words{"spectrum", broken} + command);
  EXPECT_EQ(places_of(report["skipped"]), skipped);
  json expected = json::array();
  const json whole = report_of(Words{"spectrum", audio} + command);
  for (json row : whole["rows"]) {
    row["model"] = report["models"][0]["name"];
    if (skipped.count(place_of(row)) == 0) expected.push_back(row);
  }
  EXPECT_EQ(report["rows"], expected);
  for (const json& entry : report["skipped"]) {
    EXPECT_EQ(keys_of(entry), sorted({"model", "layer", "matrix", "head", "reason"}));
    EXPECT_EQ(entry["model"], report["models"][0]["name"]);
    EXPECT_TRUE(contains(entry["reason"].get<std::string>(), "NaN or Inf")) << entry;
  }
}

TEST(CliSkipped, NanInOneHeadSkipsThatHeadAndTheWholeMatrix) {
  const TempFolder folder;
  const std::string audio = TinyLlama().write(folder, "sound");
  // Heads have 4 rows, and 4 columns in o.
  const struct {
    char matrix;
    int row, col;
    float value;
    std::set<std::string> skipped;
  } cases[] = {
      {'q', 5, 3, kSkippedNan, {"1 q -", "1 q 1", "1 qk -", "1 qk 1"}},
      // Shared by two query heads.
      {'k', 6, 0, kInf, {"1 k -", "1 k 1", "1 qk -", "1 qk 2", "1 qk 3"}},
      {'v', 3, 15, -kInf, {"1 v -", "1 v 0", "1 ov -", "1 ov 0", "1 ov 1"}},
      {'o', 15, 8, kSkippedNan, {"1 o -", "1 o 2", "1 ov -", "1 ov 2"}},
  };
  for (const auto& [matrix, row, col, value, skipped] : cases) {
    SCOPED_TRACE(matrix);
    TinyLlama model;
    set_element(model.attention(1, matrix), row, col, value);
    const std::string broken = model.write(folder, std::string("broken-") + matrix);
    expect_only_skipped(kPerHead, broken, audio, skipped);
  }
}

// The config describes other projections than the files contain: none is skipped silently.
TEST(CliSkipped, NamesMissingTensors) {
  const TempFolder folder;
  const std::string from = data_path("encoder_decoders/t5-gated/");
  json config = json::parse(read_file(from + "config.json"));
  for (const char* key : {"feed_forward_proj", "dense_act_fn", "is_gated_act"}) config.erase(key);
  const auto path = folder.write("t5/config.json", config.dump()).parent_path();
  std::filesystem::copy_file(from + "model.safetensors", path / "model.safetensors");
  const RunResult run = run_attnscope({"spectrum", path.string() + ":encoder", "--format", "json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.err, "4 matrices of t5:encoder are ignored")) << run.err;
  const json report = json::parse(run.out);
  EXPECT_EQ(places_of(report["skipped"]), (std::set<std::string>{"0 up -", "1 up -"}));
  EXPECT_EQ(report["skipped"][0]["reason"],
            "tensor 'encoder.block.0.layer.1.DenseReluDense.wi.weight' is missing");
  EXPECT_EQ(report["rows"].size(), 10u) << "q, k, v, o and down of two layers";
}

TEST(CliSkipped, TheReasonNamesTheElement) {
  const TempFolder folder;
  TinyLlama model;
  set_element(model.attention(0, 'q'), 5, 3, kSkippedNan);
  const json report = report_of({"spectrum", model.write(folder, "m"), "--matrix", "q"});
  ASSERT_EQ(report["skipped"].size(), 1u);
  const std::string reason = report["skipped"][0]["reason"];
  EXPECT_TRUE(contains(reason, "row 5") && contains(reason, "column 3")) << reason;
}

TEST(CliSkipped, SkipsIntegerTensors) {
  const TempFolder folder;
  TinyLlama model;
  model.attention(0, 'q') = zero_tensor(TinyLlama::attention_name(0, 'q'), "I8", 8, {16, 16});
  const json report = report_of({"spectrum", model.write(folder, "m"), "--per-head"});
  EXPECT_EQ(places_of(report["skipped"]),
            (std::set<std::string>{"0 q -", "0 q 0", "0 q 1", "0 q 2", "0 q 3"}));
  for (const json& entry : report["skipped"]) {
    EXPECT_TRUE(contains(entry["reason"].get<std::string>(), "I8")) << entry;
  }
  EXPECT_EQ(places_of(report["rows"]).count("1 q 0"), 1u);
}

TEST(CliSkipped, CsvHasARowWithTheReasonInItsLastColumn) {
  const TempFolder folder;
  TinyLlama model;
  set_element(model.attention(0, 'q'), 5, 3, kSkippedNan);
  const std::string path = model.write(folder, "m");
  const CsvTable table = csv_of({"spectrum", path, "--per-head", "--matrix", "q"});
  const json report = report_of({"spectrum", path, "--per-head", "--matrix", "q"});
  ASSERT_EQ(table.columns.back(), "skipped");
  std::set<std::string> skipped;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string reason = table.rows[row].back();
    EXPECT_EQ(reason.empty(), !table.cell(row, "stable_rank").empty());
    if (reason.empty()) continue;
    EXPECT_EQ(reason, report["skipped"][skipped.size()]["reason"]);
    const std::string head = table.cell(row, "head");
    skipped.insert(table.cell(row, "layer") + " " + table.cell(row, "matrix") + " " +
                   (head.empty() ? "-" : head));
    EXPECT_EQ(table.cell(row, "model"), "m");
    // Every measure is empty. Only the four names and the reason are not.
    EXPECT_EQ(std::count(table.rows[row].begin(), table.rows[row].end(), std::string()),
              static_cast<std::ptrdiff_t>(table.columns.size() - (head.empty() ? 4 : 5)));
  }
  EXPECT_EQ(skipped, (std::set<std::string>{"0 q -", "0 q 1"}));
  EXPECT_EQ(table.rows.size(), 10u);
}

TEST(CliSkipped, TheTableHasADashAndALine) {
  const TempFolder folder;
  TinyLlama model;
  set_element(model.attention(1, 'q'), 5, 3, kSkippedNan);
  const std::string path = model.write(folder, "m");
  const Words command = {"spectrum", path, "--matrix", "q,k", "--energy", "0.9"};
  const std::string table = output_of(command);
  const json report = report_of(command);
  int mentions = 0;
  for (const std::string& line : lines_of(table)) {
    const Words words = words_of(line);
    if (!words.empty() && words.front() == "1") {
      EXPECT_EQ(words.size(), 4u) << table;  // 1, a dash, and rank and share of k
      EXPECT_EQ(words.at(1), "-") << table;
    }
    if (!contains(line, report["skipped"][0]["reason"].get<std::string>())) continue;
    ++mentions;
    EXPECT_TRUE(contains(line, "m") && contains(line, "q") && contains(line, "layer 1")) << line;
  }
  EXPECT_EQ(mentions, 1) << table;
}

TEST(CliSkipped, TheTableKeepsItsColumnsInOrder) {
  // A matrix that is skipped in the first layer is still in the first column.
  const TempFolder folder;
  TinyLlama model;
  set_element(model.attention(0, 'q'), 5, 3, kSkippedNan);
  const std::string path = model.write(folder, "m");
  const auto columns = [&](const Words& command) {
    for (const std::string& line : lines_of(output_of(command))) {
      if (line.starts_with("layer")) return words_of(line);
    }
    return Words{};
  };
  EXPECT_EQ(columns({"spectrum", path, "--matrix", "q,k", "--energy", "0.9"}),
            (Words{"layer", "q", "k"}));
  EXPECT_EQ(columns({"spectrum", path, "--energy", "0.9"}),
            (Words{"layer", "q", "k", "v", "o", "gate", "up", "down"}));
}

TEST(CliSkipped, MissingLayersAreOneLineOfATable) {
  const TempFolder folder;
  TinyLlama model(6);
  std::erase_if(model.tensors, [](const TensorToWrite& tensor) {
    return contains(tensor.name, "layers.2.") || contains(tensor.name, "layers.3.") ||
           contains(tensor.name, "layers.4.");
  });
  const std::string path = model.write(folder, "m");
  for (const char* command : {"spectrum", "weights"}) {
    Words lines;
    for (const std::string& line : lines_of(output_of({command, path}))) {
      if (line.starts_with("skipped: ")) lines.push_back(line);
    }
    ASSERT_EQ(lines.size(), 1u) << join(lines, "\n");
    EXPECT_TRUE(lines[0].starts_with("skipped: m: q k v o gate up down of layers 2–4: tensor '" +
                                     TinyLlama::attention_name(2, 'q') + "' is missing"))
        << lines[0];
    EXPECT_TRUE(lines[0].ends_with(", the first of 21")) << lines[0];
    EXPECT_EQ(report_of({command, path})["skipped"].size(), 21u);
  }
}

TEST(CliSkipped, AnEmptyResultIsANumericalError) {
  const TempFolder folder;
  TinyLlama model;
  for (TensorToWrite& tensor : model.tensors) {
    if (tensor.shape.size() == 2) set_element(tensor, 0, 0, kSkippedNan);
  }
  const std::string path = model.write(folder, "all-nan");
  for (const char* format : {"json", "csv", "table"}) {
    const RunResult run = run_attnscope({"spectrum", path, "--format", format});
    EXPECT_EQ(run.exit_code, 6);
    EXPECT_EQ(lines_of(run.err).size(), 1u) << run.err;
    EXPECT_TRUE(run.err.starts_with("attnscope: error: ")) << run.err;
    EXPECT_TRUE(contains(run.err, "all-nan")) << run.err;
    if (format == std::string("json")) {
      const json report = json::parse(run.out);
      EXPECT_EQ(report["rows"], json::array());
      EXPECT_EQ(report["skipped"].size(), 2u * 7);
    } else if (format == std::string("csv")) {
      const CsvTable table(run.out);
      EXPECT_EQ(table.columns.back(), "skipped");
      ASSERT_EQ(table.rows.size(), 2u * 7);
      for (const Words& row : table.rows) EXPECT_NE(row.back(), "");
    } else {
      EXPECT_TRUE(contains(run.out, "all-nan")) << run.out;
      EXPECT_TRUE(contains(run.out, "NaN or Inf")) << run.out;
    }
  }
}

TEST(CliSkipped, OneModelOfTwoIsEnough) {
  const TempFolder folder;
  TinyLlama model;
  for (TensorToWrite& tensor : model.tensors) {
    if (tensor.shape.size() == 2) set_element(tensor, 0, 0, kSkippedNan);
  }
  const json report = report_of({"spectrum", model.write(folder, "broken"), data_path("llama")});
  EXPECT_EQ(report["rows"].size(), 14u);
  EXPECT_EQ(report["skipped"].size(), 14u);
  for (const json& entry : report["skipped"]) EXPECT_EQ(entry["model"], "broken");
}

TEST(CliSkipped, ATensorByNameHasADashToo) {
  const TempFolder folder;
  TinyLlama model;
  set_element(model.tensor("lm_head.weight"), 0, 0, kSkippedNan);
  const std::string broken = model.write(folder, "broken"),
                    audio = TinyLlama().write(folder, "sound");
  const Words tensor = {"--tensor", "lm_head.weight"};

  const RunResult alone = run_attnscope(Words{"spectrum", broken, "--format", "json"} + tensor);
  EXPECT_EQ(alone.exit_code, 6);
  const json skipped = json::parse(alone.out)["skipped"];
  ASSERT_EQ(skipped.size(), 1u);
  EXPECT_EQ(skipped[0]["matrix"], "lm_head.weight");
  EXPECT_EQ(skipped[0]["layer"], nullptr);
  EXPECT_EQ(skipped[0]["head"], nullptr);

  const std::string table = output_of(Words{"spectrum", broken, audio} + tensor);
  bool dash = false;
  for (const std::string& line : lines_of(table)) {
    const Words words = words_of(line);
    if (words.size() > 1 && words[0] == "broken" && words[1] == "-") dash = true;
  }
  EXPECT_TRUE(dash) << table;
}

}  // namespace
}  // namespace attnscope::test
