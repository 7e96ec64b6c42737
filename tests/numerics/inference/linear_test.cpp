#include "attnscope/numerics/inference/linear.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "attnscope/numerics/inference/activations.h"
#include "tests/support/compute.h"

namespace attnscope {
namespace {

using namespace test;

std::vector<float> random_values(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& value : out) value = normal(generator);
  return out;
}

/// A tensor of random numbers in any dtype, at an odd address.
struct Stored {
  std::vector<std::byte> bytes;
  TensorView view;

  Stored(DType dtype, std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
    const std::int64_t count = rows * cols, size = dtype_info(dtype).bits / 8;
    bytes.resize(static_cast<std::size_t>(count * size + 1));
    const std::vector<float> values = random_values(count, seed);
    std::byte* at = bytes.data() + 1;
    for (const float value : values) {
      if (dtype == DType::f32) {
        std::memcpy(at, &value, 4);
      } else if (dtype == DType::f64) {
        const double rounded_later = static_cast<double>(value) + 1e-9;
        std::memcpy(at, &rounded_later, 8);
      } else if (dtype == DType::bf16) {
        std::memcpy(at, reinterpret_cast<const std::byte*>(&value) + 2, 2);
      } else {
        // Random bits of a number of usual magnitude: sign, a middle exponent, and fraction.
        const auto bits = std::bit_cast<std::uint32_t>(value);
        if (dtype == DType::f16) {
          const auto half =
              static_cast<std::uint16_t>((bits & 0x83FF) | 0x3800 | (bits >> 5 & 0x400));
          std::memcpy(at, &half, 2);
        } else {
          *at = static_cast<std::byte>((bits & 0x87) | 0x38);
        }
      }
      at += size;
    }
    view = {dtype, {rows, cols}, std::span(bytes).subspan(1)};
  }
};

/// The stacked parts, with each value rounded to float32.
std::vector<double> decoded(const std::vector<TensorMatrix>& parts) {
  std::vector<double> out;
  for (const TensorMatrix& part : parts) {
    const Matrix<float> values = decode<float>(part);
    out.insert(out.end(), values.data(), values.data() + values.rows() * values.cols());
  }
  return out;
}

struct Filled {
  std::vector<float> values;
  MatrixView<float> view;

  Filled(std::int64_t rows, std::int64_t cols, std::int64_t step, std::uint64_t seed)
      : values(random_values(rows * step, seed)), view{values.data(), rows, cols, step, 1} {}
};

/// Checks the error bound of float32 sums: one rounding per product and per addition, at most twice
/// the number of inputs.
void expect_products(MatrixView<const float> x, const std::vector<TensorMatrix>& parts,
                     MatrixView<const float> found, const std::string& what) {
  const std::vector<double> w = decoded(parts);
  for (std::int64_t row = 0; row < found.rows; ++row) {
    for (std::int64_t col = 0; col < found.cols; ++col) {
      double sum = 0, sizes = 0;
      for (std::int64_t k = 0; k < x.cols; ++k) {
        const double product =
            static_cast<double>(x(row, k)) * w[static_cast<std::size_t>(col * x.cols + k)];
        sum += product;
        sizes += std::abs(product);
      }
      const double allowed = 6e-8 * (2 + std::sqrt(static_cast<double>(x.cols))) * sizes;
      ASSERT_NEAR(static_cast<double>(found(row, col)), sum, allowed)
          << what << ", row " << row << ", column " << col;
    }
  }
}

/// Checks both storages: the products, and that they are identical to the last digit.
void expect_linear(std::int64_t rows, const std::vector<TensorMatrix>& parts,
                   const std::string& what) {
  const Compute compute = test_compute();
  std::int64_t outputs = 0;
  for (const TensorMatrix& part : parts) outputs += part.rows;
  const std::int64_t inputs = parts[0].cols;
  const Filled x(rows, inputs, inputs + 3, 7);
  std::vector<float> results[2];
  for (const bool packed : {false, true}) {
    const LinearWeights weights(parts, packed, compute);
    EXPECT_EQ(weights.outputs(), outputs);
    EXPECT_EQ(weights.inputs(), inputs);
    Filled out(rows, outputs, outputs + 5, 8);
    const std::vector<float> before = out.values;
    apply_linear(x.view, weights, {}, out.view, compute);
    expect_products(x.view, parts, out.view, what + (packed ? ", packed" : ""));
    for (std::int64_t at = 0; at < std::ssize(before); ++at) {
      if (at % (outputs + 5) < outputs) continue;
      ASSERT_EQ(out.values[static_cast<std::size_t>(at)], before[static_cast<std::size_t>(at)])
          << what << ": wrote between rows";
    }
    results[packed] = out.values;
  }
  EXPECT_EQ(results[0], results[1]) << what;
}

TEST(ApplyLinear, EqualsTheProductForEveryShape) {
  const struct Shape {
    std::int64_t rows, outputs, inputs;
  } shapes[] = {{1, 1, 1},     {1, 48, 16},   {2, 47, 3},    {3, 49, 17},   {4, 100, 33},
                {5, 16, 64},   {6, 15, 31},   {7, 144, 100}, {8, 96, 768},  {9, 50, 40},
                {13, 65, 129}, {17, 3, 200},  {100, 70, 48}, {515, 52, 70}, {3, 40, 1025},
                {9, 51, 2100}, {1, 97, 1024}, {21, 17, 3072}};
  for (const auto& [rows, outputs, inputs] : shapes) {
    const Stored stored(DType::f32, outputs, inputs, 1);
    expect_linear(
        rows, {whole_matrix(stored.view)},
        std::to_string(rows) + " " + std::to_string(outputs) + " " + std::to_string(inputs));
  }
}

TEST(ApplyLinear, ReadsEveryDTypeInEitherOrientation) {
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2}) {
    for (const std::int64_t inputs : {5, 64, 83}) {
      const std::string what =
          std::string(dtype_name(dtype)) + ", " + std::to_string(inputs) + " inputs";
      const Stored stored(dtype, 101, inputs, 2);
      expect_linear(11, {whole_matrix(stored.view)}, what);
      const Stored turned(dtype, inputs, 101, 3);  // as stored by Conv1D
      expect_linear(11,
                    {{.tensor = turned.view,
                      .rows = 101,
                      .cols = inputs,
                      .row_stride = 1,
                      .col_stride = 101,
                      .block_rows = 101}},
                    what + ", transposed");
    }
  }
}

TEST(ApplyLinear, StacksParts) {
  const Stored a(DType::f32, 50, 70, 4), b(DType::f32, 13, 70, 5), c(DType::bf16, 96, 70, 6);
  expect_linear(19, {whole_matrix(a.view), whole_matrix(b.view), whole_matrix(c.view)}, "stacked");
}

TEST(ApplyLinear, ReadsFusedTensors) {
  // GPT-NeoX: q, k, v of each head in sequence.
  for (const std::int64_t head_dim : {7, 16, 80}) {
    constexpr std::int64_t kHeads = 5, kInputs = 40;
    const Stored fused(DType::f16, kHeads * 3 * head_dim, kInputs, 7);
    std::vector<TensorMatrix> parts;
    for (std::int64_t part = 0; part < 3; ++part) {
      parts.push_back({.tensor = fused.view,
                       .rows = kHeads * head_dim,
                       .cols = kInputs,
                       .first = part * head_dim * kInputs,
                       .row_stride = kInputs,
                       .block_rows = head_dim,
                       .block_stride = 3 * head_dim * kInputs});
      expect_linear(10, {parts.back()}, "NeoX " + std::to_string(head_dim));
    }
    expect_linear(10, parts, "NeoX, all of " + std::to_string(head_dim));
  }
  // GPT-2: columns Q, K, V of a transposed tensor.
  const Stored columns(DType::f32, 60, 3 * 60, 8);
  for (std::int64_t part = 0; part < 3; ++part) {
    expect_linear(10,
                  {{.tensor = columns.view,
                    .rows = 60,
                    .cols = 60,
                    .first = part * 60,
                    .row_stride = 1,
                    .col_stride = 180,
                    .block_rows = 60}},
                  "GPT-2");
  }
}

TEST(ApplyLinear, AppliesBiasActivationFactorsAndResidual) {
  constexpr std::int64_t kRows = 37, kOutputs = 149, kInputs = 90;
  const Compute compute = test_compute();
  const Stored stored(DType::f32, kOutputs, kInputs, 9);
  const LinearWeights weights({whole_matrix(stored.view)}, true, compute);
  const Filled x(kRows, kInputs, kInputs, 10);
  const std::vector<float> bias = random_values(kOutputs, 11);
  Filled factors(kRows, kOutputs, kOutputs + 1, 12), residual(kRows, kOutputs, kOutputs + 2, 13);
  Filled sums(kRows, kOutputs, kOutputs, 14);
  apply_linear(x.view, weights, {}, sums.view, compute);
  for (const Activation activation :
       {Activation::linear, Activation::gelu, Activation::gelu_tanh, Activation::quick_gelu,
        Activation::gelu_10, Activation::silu, Activation::relu, Activation::relu_squared,
        Activation::tanh, Activation::sigmoid, Activation::mish}) {
    for (int with = 0; with < 8; ++with) {
      LinearEpilogue epilogue = {.activation = activation};
      if (with & 1) epilogue.bias = bias;
      if (with & 2) epilogue.multiply = factors.view;
      if (with & 4) epilogue.add = residual.view;
      Filled out(kRows, kOutputs, kOutputs, 15);
      apply_linear(x.view, weights, epilogue, out.view, compute);
      for (std::int64_t row = 0; row < kRows; ++row) {
        for (std::int64_t col = 0; col < kOutputs; ++col) {
          float y = sums.view(row, col);
          if (with & 1) y += bias[static_cast<std::size_t>(col)];
          activate(activation, {&y, 1, 1, 1, 1}, compute);
          if (with & 2) y *= factors.view(row, col);
          if (with & 4) y += residual.view(row, col);
          ASSERT_EQ(out.view(row, col), y) << "activation " << static_cast<int>(activation)
                                           << ", with " << with << ", at " << row << " " << col;
        }
      }
    }
  }
}

TEST(ApplyLinear, AddsToAndMultipliesWithItsOwnOutput) {
  // With several blocks of inputs, whose partial sums need separate memory.
  constexpr std::int64_t kRows = 20, kOutputs = 60, kInputs = 2500;
  const Compute compute = test_compute();
  const Stored stored(DType::f32, kOutputs, kInputs, 16);
  const LinearWeights weights({whole_matrix(stored.view)}, true, compute);
  const Filled x(kRows, kInputs, kInputs, 17);
  const Filled before(kRows, kOutputs, kOutputs, 18);
  Filled sums = before, added = before, multiplied = before;
  for (Filled* matrix : {&sums, &added, &multiplied}) matrix->view.data = matrix->values.data();
  apply_linear(x.view, weights, {}, sums.view, compute);
  apply_linear(x.view, weights, {.add = added.view}, added.view, compute);
  apply_linear(x.view, weights, {.multiply = multiplied.view}, multiplied.view, compute);
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t col = 0; col < kOutputs; ++col) {
      EXPECT_EQ(added.view(row, col), sums.view(row, col) + before.view(row, col));
      EXPECT_EQ(multiplied.view(row, col), sums.view(row, col) * before.view(row, col));
    }
  }
}

TEST(ApplyLinear, GivesTheSameBytesForAnyThreads) {
  constexpr std::int64_t kRows = 700, kOutputs = 333, kInputs = 1100;
  const Stored stored(DType::bf16, kOutputs, kInputs, 19);
  const Filled x(kRows, kInputs, kInputs, 20);
  const auto product = [&](const Compute& compute, bool packed) {
    const LinearWeights weights({whole_matrix(stored.view)}, packed, compute);
    Filled out(kRows, kOutputs, kOutputs, 21);
    apply_linear(x.view, weights, {.activation = Activation::gelu}, out.view, compute);
    return out.values;
  };
  const std::vector<float> alone = product(test_compute(), true);
  for (const int threads : {1, 3}) {
    LentTeam team(threads);
    EXPECT_EQ(product(team.compute(), true), alone);
    EXPECT_EQ(product(team.compute(), false), alone);
  }
}

TEST(ApplyLinear, ARowHasTheSameDigitsInAnyBatch) {
  if (!test_compute().kernels.available()) GTEST_SKIP() << "BLAS promises no such thing";
  constexpr std::int64_t kRows = 30, kOutputs = 100, kInputs = 1300;
  const Compute compute = test_compute();
  const Stored stored(DType::f32, kOutputs, kInputs, 22);
  const LinearWeights weights({whole_matrix(stored.view)}, true, compute);
  const Filled x(kRows, kInputs, kInputs, 23);
  Filled all(kRows, kOutputs, kOutputs, 24);
  apply_linear(x.view, weights, {}, all.view, compute);
  for (std::int64_t count = 1; count <= kRows; ++count) {
    Filled some(count, kOutputs, kOutputs, 25);
    apply_linear(x.view.row_block(kRows - count, count), weights, {}, some.view, compute);
    for (std::int64_t row = 0; row < count; ++row) {
      for (std::int64_t col = 0; col < kOutputs; ++col) {
        ASSERT_EQ(some.view(row, col), all.view(kRows - count + row, col)) << count;
      }
    }
  }
}

TEST(ApplyLinear, SupportsEmptyShapes) {
  const Compute compute = test_compute();
  for (const bool packed : {false, true}) {
    const Stored no_inputs(DType::f32, 20, 0, 1), no_outputs(DType::f32, 0, 20, 1);
    const LinearWeights sums_of_none({whole_matrix(no_inputs.view)}, packed, compute);
    Filled out(3, 20, 20, 2);
    const std::vector<float> bias(20, 2.0F);
    apply_linear({out.values.data(), 3, 0, 0, 1}, sums_of_none, {.bias = bias}, out.view, compute);
    for (const float y : out.values) EXPECT_EQ(y, 2.0F);
    const LinearWeights none({whole_matrix(no_outputs.view)}, packed, compute);
    const Filled x(3, 20, 20, 3);
    apply_linear(x.view, none, {}, {nullptr, 3, 0, 0, 1}, compute);
    const Stored stored(DType::f32, 20, 20, 1);
    const LinearWeights weights({whole_matrix(stored.view)}, packed, compute);
    apply_linear({nullptr, 0, 20, 20, 1}, weights, {}, {nullptr, 0, 20, 20, 1}, compute);
  }
}

TEST(ApplyLinear, StopsOnRequest) {
  const Stored stored(DType::f32, 100, 20, 1);
  const Compute compute = test_compute();
  const LinearWeights weights({whole_matrix(stored.view)}, true, compute);
  const Filled x(30, 20, 20, 2);
  Filled out(30, 100, 100, 3);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(apply_linear(x.view, weights, {}, out.view, test_compute(nullptr, stop.get_token())),
               Stopped);
  EXPECT_THROW(
      LinearWeights({whole_matrix(stored.view)}, true, test_compute(nullptr, stop.get_token())),
      Stopped);
}

TEST(LinearWeights, ReportsTheMemoryOfACopy) {
  EXPECT_EQ(LinearWeights::packed_bytes(48, 10), 48 * 10 * 4);
  EXPECT_EQ(LinearWeights::packed_bytes(49, 10), 96 * 10 * 4);
  EXPECT_EQ(LinearWeights::packed_bytes(0, 10), 0);
  EXPECT_EQ(LinearWeights::packed_bytes(std::int64_t{1} << 40, std::int64_t{1} << 40),
            std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace attnscope
