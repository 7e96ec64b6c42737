// `matrix` in each format prints the saved values.
#include <cmath>
#include <limits>

#include "tests/support/saved_matrix.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

TEST(CliMatrix, JsonAndCsvContainTheSavedNumbers) {
  const std::string model = data_path("llama");
  for (const std::string matrix : {"k", "qk"}) {
    const Npy saved = saved_matrix(model, 1, matrix, 1);
    const Words command = {"matrix", model, "--layer", "-1", "--matrix", matrix, "--head", "1"};
    const json report = report_of(command);
    EXPECT_EQ(report["schema"], "attnscope/2");
    EXPECT_EQ(report["command"], "matrix");
    EXPECT_EQ(report["models"][0]["name"], "llama");
    EXPECT_EQ(report["parameters"], (json{{"layer", -1}, {"matrix", matrix}, {"head", 1}}));
    EXPECT_EQ(report["skipped"], json::array());
    const CsvTable table = csv_of(command);
    EXPECT_EQ(table.columns.size(), static_cast<std::size_t>(5 + saved.cols));
    ASSERT_EQ(report["rows"].size(), static_cast<std::size_t>(saved.rows));
    ASSERT_EQ(table.rows.size(), static_cast<std::size_t>(saved.rows));
    for (std::int64_t row = 0; row < saved.rows; ++row) {
      const auto at = static_cast<std::size_t>(row);
      EXPECT_EQ(keys_of(report["rows"][at]),
                (Words{"head", "layer", "matrix", "model", "row", "values"}));
      EXPECT_EQ(report["rows"][at]["row"], row);
      EXPECT_EQ(report["rows"][at]["layer"], 1);
      EXPECT_EQ(table.cell(at, "row"), std::to_string(row));
      for (std::int64_t col = 0; col < saved.cols; ++col) {
        const auto in_row = static_cast<std::size_t>(col);
        ASSERT_EQ(report["rows"][at]["values"][in_row].get<double>(), saved.at(row, col));
        ASSERT_EQ(std::stod(table.cell(at, "values_" + std::to_string(col))), saved.at(row, col));
      }
    }
  }
}

TEST(CliMatrix, ListsTheRowsOfSeveralModelsInOrder) {
  const Words rest = {"--layer", "-1", "--matrix", "k", "--head", "1"};
  const auto rows_of = [&](const Words& models) {
    Words command = {"matrix"};
    command.insert(command.end(), models.begin(), models.end());
    command.insert(command.end(), rest.begin(), rest.end());
    return report_of(command)["rows"];
  };
  json expected = rows_of({data_path("gpt2")});
  for (const json& row : rows_of({data_path("llama")})) expected.push_back(row);
  EXPECT_EQ(rows_of({data_path("gpt2"), data_path("llama")}), expected);
}

TEST(CliMatrix, TheTableShowsTheMatrixNameAndItsCorners) {
  const std::string table =
      output_of({"matrix", data_path("gpt2"), "--layer", "1", "--matrix", "q", "--head", "2"});
  const std::string title = lines_of(table).front();
  for (const char* part : {"gpt2", "q", "layer 1", "head 2", "8", "32"}) {
    EXPECT_TRUE(contains(title, part)) << title;
  }
  const Npy saved = saved_matrix(data_path("gpt2"), 1, "q", 2);
  const Words first_row = words_of(lines_of(table).at(2));
  EXPECT_EQ(first_row.front(), "0");
  EXPECT_NEAR(std::stod(first_row.at(1)), saved.at(0, 0), 1e-4 * std::abs(saved.at(0, 0)));
  EXPECT_NEAR(std::stod(first_row.back()), saved.at(0, 31), 1e-4 * std::abs(saved.at(0, 31)));
}

/// The lines of a table's grid. A gap is shown as "...".
std::vector<Words> grid_of(const std::string& table) {
  std::vector<Words> grid;
  const Words lines = lines_of(table);
  for (std::size_t at = 2; at < lines.size() && !lines[at].empty(); ++at) {
    grid.push_back(words_of(lines[at]));
  }
  return grid;
}

TEST(CliMatrix, TheTableShowsFourRowsAndColumnsAtEachEnd) {
  const TempFolder folder;
  const auto places = [](std::int64_t count) {
    Words shown;
    for (std::int64_t at = 0; at < count; ++at) {
      if (count <= 8 || at < 4 || at >= count - 4) shown.push_back(std::to_string(at));
      if (count > 8 && at == 3) shown.push_back("...");
    }
    return shown;
  };
  ASSERT_EQ(places(9), (Words{"0", "1", "2", "3", "...", "5", "6", "7", "8"}));
  // Eight rows or columns fit without a gap.
  for (const auto& [rows, cols] :
       {std::pair{3, 40}, std::pair{8, 8}, std::pair{9, 8}, std::pair{8, 9}, std::pair{30, 21}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols));
    TensorToWrite tensor = counting_tensor("w", {rows, cols});
    for (int row = 0; row < rows; ++row) {
      for (int col = 0; col < cols; ++col) {
        set_element(tensor, row, col, static_cast<float>(100 * row + col));
      }
    }
    const json layout = {{"schema", "attnscope-layout/1"},
                         {"layers", 1},
                         {"heads", 1},
                         {"head_dim", rows},
                         {"hidden_size", cols},
                         {"weights", {{{"role", "q"}, {"tensor", "w"}}}}};
    const std::string table = output_of(
        {"matrix", folder.write("w.safetensors", safetensors_bytes({tensor})).string(), "--layout",
         folder.write("layout.json", layout.dump()).string(), "--layer", "0", "--matrix", "q"});
    std::vector<Words> expected;
    for (const std::string& row : places(rows)) {
      Words& line = expected.emplace_back(Words{row});
      for (const std::string& col : places(cols)) {
        const bool gap = row == "..." || col == "...";
        line.push_back(gap ? "..." : std::to_string(100 * std::stoi(row) + std::stoi(col)));
      }
    }
    EXPECT_EQ(grid_of(table), expected) << table;
  }
}

TEST(CliMatrix, NanIsNullOrEmpty) {
  const TempFolder folder;
  TinyLlama model(1);
  set_element(model.attention(0, 'k'), 0, 1, std::numeric_limits<float>::quiet_NaN());
  set_element(model.attention(0, 'k'), 0, 2, std::numeric_limits<float>::infinity());
  const std::string path = model.write(folder, "nan");
  const Words command = {"matrix", path, "--layer", "0", "--matrix", "k"};
  const json values = report_of(command)["rows"][0]["values"];
  EXPECT_TRUE(values[0].is_number());
  EXPECT_TRUE(values[1].is_null());
  EXPECT_TRUE(values[2].is_null());
  const CsvTable table = csv_of(command);
  EXPECT_EQ(table.cell(0, "values_1"), "");
  EXPECT_EQ(table.cell(0, "values_2"), "");
  const Npy saved = saved_matrix(path, 0, "k");
  EXPECT_TRUE(std::isnan(saved.at(0, 1)));
  EXPECT_TRUE(std::isinf(saved.at(0, 2)));
}

}  // namespace
}  // namespace attnscope::test
