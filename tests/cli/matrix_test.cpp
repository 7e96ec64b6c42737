// `matrix`: what is printed and saved is the stored weight in canonical orientation.
#include <cstdio>
#include <limits>

#include "tests/cli/command_line.h"

namespace attnscope::test {
namespace {

constexpr int kMatrixHeads = 4, kMatrixHeadDim = 8,
              kMatrixWidth = 32;  // of the models in tests/data

/// A .npy file, read by NumPy's description of the format.
struct Npy {
  std::string dtype;
  std::int64_t rows = 0, cols = 0;
  std::vector<double> values;

  explicit Npy(const std::string& file) {
    EXPECT_EQ(file.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    const std::size_t length =
        static_cast<unsigned char>(file.at(8)) + 256u * static_cast<unsigned char>(file.at(9));
    EXPECT_EQ((10 + length) % 64, 0u) << "the elements are not aligned";
    const std::string header = file.substr(10, length);
    EXPECT_EQ(header.back(), '\n');
    char kind[8] = {};
    long long header_rows = 0, header_cols = 0;
    int end = 0;
    const int fields = std::sscanf(
        header.c_str(), "{'descr': '%3s', 'fortran_order': False, 'shape': (%lld, %lld), }%n", kind,
        &header_rows, &header_cols, &end);
    EXPECT_EQ(fields, 3) << header;
    EXPECT_EQ(header.find_first_not_of(' ', static_cast<std::size_t>(end)), header.size() - 1);
    dtype = kind;
    rows = header_rows;
    cols = header_cols;
    for (std::size_t at = 10 + length; at < file.size(); at += dtype == "<f4" ? 4 : 8) {
      float single = 0;
      double value = 0;
      if (dtype == "<f4") {
        std::memcpy(&single, file.data() + at, sizeof single);
        value = single;
      } else {
        std::memcpy(&value, file.data() + at, sizeof value);
      }
      values.push_back(value);
    }
    EXPECT_EQ(values.size(), static_cast<std::size_t>(rows * cols));
  }

  double at(std::int64_t row, std::int64_t col) const {
    return values[static_cast<std::size_t>(row * cols + col)];
  }
};

Npy saved_matrix(const std::string& model, int layer, const std::string& matrix,
                 std::optional<int> head = std::nullopt) {
  const TempFolder folder;
  const std::string file = (folder.path() / "w.npy").string();
  Words command = {"matrix",   model,  "--layer", std::to_string(layer),
                   "--matrix", matrix, "--out",   file};
  if (head) command = command + Words{"--head", std::to_string(*head)};
  EXPECT_EQ(output_of(command), "");
  EXPECT_EQ(files_in(folder.path()), Words{"w.npy"});
  return Npy(read_file(file));
}

/// Exactly: decoding a stored float32 or float16 loses nothing.
template <class Expected>
void expect_elements(const Npy& got, std::int64_t rows, std::int64_t cols, Expected expected) {
  EXPECT_EQ(got.dtype, "<f4");
  ASSERT_EQ(got.rows, rows);
  ASSERT_EQ(got.cols, cols);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      ASSERT_EQ(got.at(row, col), expected(row, col)) << "row " << row << ", column " << col;
    }
  }
}

TEST(CliMatrix, TakesApartTheTransposedFusedTensorOfGpt2) {
  const std::string gpt2 = data_path("gpt2");
  const StoredTensor fused =
      stored_tensor(gpt2 + "/model.safetensors", "transformer.h.1.attn.c_attn.weight");
  ASSERT_EQ(fused.shape, (std::vector<std::int64_t>{kMatrixWidth, 3 * kMatrixWidth}));
  const Words matrices = {"q", "k", "v"};
  for (int slice = 0; slice < 3; ++slice) {
    const std::string& matrix = matrices[static_cast<std::size_t>(slice)];
    SCOPED_TRACE(matrix);
    expect_elements(saved_matrix(gpt2, 1, matrix), kMatrixWidth, kMatrixWidth,
                    [&](std::int64_t row, std::int64_t col) {
                      return fused.at(col, slice * kMatrixWidth + row);
                    });
    for (int head = 0; head < kMatrixHeads; ++head) {
      expect_elements(saved_matrix(gpt2, 1, matrix, head), kMatrixHeadDim, kMatrixWidth,
                      [&](std::int64_t row, std::int64_t col) {
                        return fused.at(col, slice * kMatrixWidth + head * kMatrixHeadDim + row);
                      });
    }
  }
  const StoredTensor output =
      stored_tensor(gpt2 + "/model.safetensors", "transformer.h.1.attn.c_proj.weight");
  for (int head = 0; head < kMatrixHeads; ++head) {
    // A head of the output is a block of columns.
    expect_elements(saved_matrix(gpt2, 1, "o", head), kMatrixWidth, kMatrixHeadDim,
                    [&](std::int64_t row, std::int64_t col) {
                      return output.at(head * kMatrixHeadDim + col, row);
                    });
  }
}

TEST(CliMatrix, TakesApartTheInterleavedHeadsOfGptNeoX) {
  const std::string neox = data_path("gpt_neox");
  const StoredTensor fused = stored_tensor(neox + "/model.safetensors",
                                           "gpt_neox.layers.0.attention.query_key_value.weight");
  ASSERT_EQ(fused.shape, (std::vector<std::int64_t>{3 * kMatrixWidth, kMatrixWidth}));
  const Words matrices = {"q", "k", "v"};
  for (int slice = 0; slice < 3; ++slice) {
    const std::string& matrix = matrices[static_cast<std::size_t>(slice)];
    SCOPED_TRACE(matrix);
    const auto element = [&](std::int64_t row, std::int64_t col) {
      const std::int64_t head = row / kMatrixHeadDim;
      return fused.at((3 * head + slice) * kMatrixHeadDim + row % kMatrixHeadDim, col);
    };
    expect_elements(saved_matrix(neox, 0, matrix), kMatrixWidth, kMatrixWidth, element);
    for (int head = 0; head < kMatrixHeads; ++head) {
      expect_elements(saved_matrix(neox, 0, matrix, head), kMatrixHeadDim, kMatrixWidth,
                      [&](std::int64_t row, std::int64_t col) {
                        return element(head * kMatrixHeadDim + row, col);
                      });
    }
  }
}

TEST(CliMatrix, LeavesAPlainTensorAsItIsStored) {
  const std::string bert = data_path("bert");
  const StoredTensor down =
      stored_tensor(bert + "/model.safetensors", "bert.encoder.layer.0.output.dense.weight");
  expect_elements(saved_matrix(bert, 0, "down"), down.shape[0], down.shape[1],
                  [&](std::int64_t row, std::int64_t col) { return down.at(row, col); });
}

TEST(CliMatrix, NegativeLayersCountFromTheEnd) {
  const std::string gpt2 = data_path("gpt2");
  EXPECT_EQ(saved_matrix(gpt2, -1, "up").values, saved_matrix(gpt2, 1, "up").values);
  EXPECT_EQ(saved_matrix(gpt2, -2, "up").values, saved_matrix(gpt2, 0, "up").values);
  EXPECT_NE(saved_matrix(gpt2, 0, "up").values, saved_matrix(gpt2, 1, "up").values);
}

/// left * right in float64, and how far rounding may take an element of it.
struct Product {
  std::vector<double> values;
  std::vector<double> tolerance;  // n * 2^-52 * sum |left| |right|: n products and n - 1 sums
};

enum class Transposed { left, none };

Product naive_product(const Npy& left, const Npy& right, Transposed transposed) {
  const bool left_transposed = transposed == Transposed::left;
  const std::int64_t rows = left_transposed ? left.cols : left.rows;
  const std::int64_t inner = left_transposed ? left.rows : left.cols;
  Product product;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < right.cols; ++col) {
      double sum = 0, absolute = 0;
      for (std::int64_t at = 0; at < inner; ++at) {
        const double term =
            (left_transposed ? left.at(at, row) : left.at(row, at)) * right.at(at, col);
        sum += term;
        absolute += std::abs(term);
      }
      product.values.push_back(sum);
      product.tolerance.push_back(static_cast<double>(inner) * 0x1p-52 * absolute);
    }
  }
  return product;
}

void expect_product(const Npy& got, const Product& expected) {
  EXPECT_EQ(got.dtype, "<f8");
  ASSERT_EQ(got.values.size(), expected.values.size());
  for (std::size_t at = 0; at < got.values.size(); ++at) {
    ASSERT_NEAR(got.values[at], expected.values[at], expected.tolerance[at]) << "element " << at;
  }
}

TEST(CliMatrix, CircuitsAreTheProductsOfTheirHeads) {
  for (const std::string name : {"gpt2", "llama"}) {  // llama: two query heads to a key head
    SCOPED_TRACE(name);
    const std::string model = data_path(name);
    std::vector<double> qk_sum(kMatrixWidth * kMatrixWidth, 0),
        ov_sum(kMatrixWidth * kMatrixWidth, 0);
    for (int head = 0; head < kMatrixHeads; ++head) {
      const int kv_head = name == "llama" ? head / 2 : head;
      const Npy qk = saved_matrix(model, 0, "qk", head), ov = saved_matrix(model, 0, "ov", head);
      expect_product(qk, naive_product(saved_matrix(model, 0, "q", head),
                                       saved_matrix(model, 0, "k", kv_head), Transposed::left));
      expect_product(ov, naive_product(saved_matrix(model, 0, "o", head),
                                       saved_matrix(model, 0, "v", kv_head), Transposed::none));
      for (std::size_t at = 0; at < qk_sum.size(); ++at) {
        qk_sum[at] += qk.values[at];
        ov_sum[at] += ov.values[at];
      }
    }
    const Npy qk = saved_matrix(model, 0, "qk"), ov = saved_matrix(model, 0, "ov");
    for (std::size_t at = 0; at < qk_sum.size(); ++at) {
      // Elements are sums of 32 products of numbers below 1.
      EXPECT_NEAR(qk.values[at], qk_sum[at], 32 * 32 * 0x1p-52);
      EXPECT_NEAR(ov.values[at], ov_sum[at], 32 * 32 * 0x1p-52);
    }
  }
}

TEST(CliMatrix, AFloat64WeightKeepsItsDigits) {
  const TempFolder folder;
  TinyLlama model(1);
  TensorToWrite q = zero_tensor(TinyLlama::attention_name(0, 'q'), "F64", 64, {16, 16});
  const double third = 1.0 / 3;
  std::memcpy(q.bytes.data(), &third, sizeof third);
  model.attention(0, 'q') = q;
  const Npy saved = saved_matrix(model.write(folder, "double"), 0, "q");
  EXPECT_EQ(saved.dtype, "<f8");
  EXPECT_EQ(saved.at(0, 0), third);
}

TEST(CliMatrix, JsonAndCsvHoldTheSavedNumbers) {
  const std::string model = data_path("llama");
  for (const std::string matrix : {"k", "qk"}) {
    const Npy saved = saved_matrix(model, 1, matrix, 1);
    const Words command = {"matrix", model, "--layer", "-1", "--matrix", matrix, "--head", "1"};
    const json report = report_of(command);
    EXPECT_EQ(report["schema"], "attnscope/1");
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

TEST(CliMatrix, SeveralModelsHaveTheirRowsOneAfterAnother) {
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

TEST(CliMatrix, TheTableShowsWhichMatrixAndItsCorners) {
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

/// Lines of a table's grid: what stands over a gap is "...".
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
  // Eight fit without a gap.
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
                         {"width", cols},
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

TEST(CliMatrix, NotANumberIsNullAndEmpty) {
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

TEST(CliMatrix, EveryDataModelGivesEveryMatrixThatItHas) {
  for (const std::string& name : data_names()) {
    SCOPED_TRACE(name);
    const json report = report_of({"spectrum", data_path(name), "--layers", "-1", "--per-head"});
    for (const json& row : report["rows"]) {
      const std::string matrix = row["matrix"];
      if (!row["head"].is_null() && row["head"] != 1) continue;
      std::optional<int> head;
      if (!row["head"].is_null()) head = row["head"].get<int>();
      const Npy saved = saved_matrix(data_path(name), -1, matrix, head);
      EXPECT_EQ(row["shape"], (json{saved.rows, saved.cols})) << row;
      double squares = 0;
      for (const double value : saved.values) squares += value * value;
      // The accuracy that docs/metrics.md states, for the norm of all singular values together.
      EXPECT_NEAR(row["frobenius_norm"], std::sqrt(squares), 1e-6 * std::sqrt(squares)) << row;
    }
  }
}

}  // namespace
}  // namespace attnscope::test
