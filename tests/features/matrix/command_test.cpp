// `matrix` saves the stored weight in canonical orientation.
#include <cmath>
#include <cstring>

#include "tests/support/saved_matrix.h"
#include "tests/support/stored_tensor.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

constexpr int kMatrixHeads = 4, kMatrixHeadDim = 8,
              kMatrixWidth = 32;  // hidden size of the models in tests/data

/// Exact comparison, because decoding a stored float32 or float16 is lossless.
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

TEST(CliMatrix, SplitsTheTransposedFusedTensorOfGpt2) {
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
    // A head of W_O is a block of columns.
    expect_elements(saved_matrix(gpt2, 1, "o", head), kMatrixWidth, kMatrixHeadDim,
                    [&](std::int64_t row, std::int64_t col) {
                      return output.at(head * kMatrixHeadDim + col, row);
                    });
  }
}

TEST(CliMatrix, SplitsTheInterleavedHeadsOfGptNeoX) {
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

TEST(CliMatrix, KeepsAPlainTensorAsStored) {
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

/// left * right in float64, and a bound on the rounding error of its elements.
struct Product {
  std::vector<double> values;
  std::vector<double> tolerance;  // n * 2^-52 * sum |left| |right|: n products and n - 1 sums
};

enum class Transposed { left, none };

Product reference_product(const Npy& left, const Npy& right, Transposed transposed) {
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

TEST(CliMatrix, CircuitsEqualTheProductsOfTheirHeads) {
  for (const std::string name : {"gpt2", "llama"}) {  // llama has two query heads per key head
    SCOPED_TRACE(name);
    const std::string model = data_path(name);
    std::vector<double> qk_sum(kMatrixWidth * kMatrixWidth, 0),
        ov_sum(kMatrixWidth * kMatrixWidth, 0);
    for (int head = 0; head < kMatrixHeads; ++head) {
      const int kv_head = name == "llama" ? head / 2 : head;
      const Npy qk = saved_matrix(model, 0, "qk", head), ov = saved_matrix(model, 0, "ov", head);
      expect_product(qk, reference_product(saved_matrix(model, 0, "q", head),
                                           saved_matrix(model, 0, "k", kv_head), Transposed::left));
      expect_product(ov, reference_product(saved_matrix(model, 0, "o", head),
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

TEST(CliMatrix, KeepsTheDigitsOfAFloat64Weight) {
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

/// Checks every third matrix row, starting at another row for each model.
TEST(CliMatrix, ReturnsTheMatricesOfTheDataModels) {
  std::size_t turn = 0;
  for (const std::string& name : data_names()) {
    SCOPED_TRACE(name);
    const json report = report_of({"spectrum", data_path(name), "--layers", "-1", "--per-head"});
    std::size_t at = turn++;
    for (const json& row : report["rows"]) {
      const std::string matrix = row["matrix"];
      if (!row["head"].is_null() && row["head"] != 1) continue;
      if (at++ % 3 != 0) continue;
      std::optional<int> head;
      if (!row["head"].is_null()) head = row["head"].get<int>();
      const Npy saved = saved_matrix(data_path(name), -1, matrix, head);
      EXPECT_EQ(row["shape"], (json{saved.rows, saved.cols})) << row;
      double squares = 0;
      for (const double value : saved.values) squares += value * value;
      // The accuracy stated in docs/metrics.md, for the norm of all singular values together.
      EXPECT_NEAR(row["frobenius_norm"], std::sqrt(squares), 1e-6 * std::sqrt(squares)) << row;
    }
  }
}

}  // namespace
}  // namespace attnscope::test
