// Singular values with shapes of real models on one thread, called as in the pipeline.
#include "attnscope/numerics/svd/singular_values.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace attnscope {
namespace {

template <class T>
Matrix<T> gaussian(std::int64_t rows, std::int64_t cols) {
  Matrix<T> out(rows, cols);
  std::mt19937_64 random(1);
  std::normal_distribution<T> normal;
  std::generate_n(out.data(), rows * cols, [&] { return normal(random); });
  return out;
}

/// Checks Σσ² = ‖W‖_F² up to float32 rounding before anything is timed.
template <class T>
bool keeps_energy(MatrixView<const T> matrix, const std::vector<double>& values) {
  double expected = 0, found = 0;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      expected += static_cast<double>(matrix(row, col)) * static_cast<double>(matrix(row, col));
    }
  }
  for (const double value : values) found += value * value;
  return std::abs(found - expected) <= 1e-7 * expected;
}

void weight(benchmark::State& state) {
  const Matrix<float> matrix = gaussian<float>(state.range(0), state.range(1));
  const auto view = std::as_const(matrix).view();
  if (!keeps_energy(view, singular_values(view).values)) return state.SkipWithError("wrong answer");
  for (auto _ : state) benchmark::DoNotOptimize(singular_values(view));

  // m n² for the Gram matrix and 4/3 n³ for its tridiagonal form, with n the shorter side. Large
  // square matrices use another algorithm, for which the same number is counted.
  const auto m = static_cast<double>(std::max(state.range(0), state.range(1)));
  const auto n = static_cast<double>(std::min(state.range(0), state.range(1)));
  state.counters["flop/s"] = {m * n * n + 4.0 / 3.0 * n * n * n,
                              benchmark::Counter::kIsIterationInvariantRate};
}
BENCHMARK(weight)
    ->ArgNames({"rows", "cols"})
    ->Args({64, 768})     // a head of GPT-2 small
    ->Args({768, 768})    // a projection of BERT-base
    ->Args({1024, 4096})  // K of Llama-3-8B
    ->Args({2048, 2048})
    ->Args({4096, 4096})  // Q and O of Llama-3-8B
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void circuit(benchmark::State& state) {
  const std::int64_t head_dim = state.range(0), width = state.range(1);
  const Matrix<double> left = gaussian<double>(head_dim, width);
  const Matrix<double> right = gaussian<double>(width, head_dim);  // transposed, like W_O
  const auto a = std::as_const(left).view();
  const auto b = std::as_const(right).view().transposed();
  const auto values = product_singular_values(a, b).values;
  // tr((AᵀB)ᵀ(AᵀB)) = <A Aᵀ, B Bᵀ>, a sum over d × d entries.
  double expected = 0, found = 0;
  for (std::int64_t row = 0; row < head_dim; ++row) {
    for (std::int64_t other = 0; other < head_dim; ++other) {
      double in_a = 0, in_b = 0;
      for (std::int64_t col = 0; col < width; ++col) {
        in_a += a(row, col) * a(other, col);
        in_b += b(row, col) * b(other, col);
      }
      expected += in_a * in_b;
    }
  }
  for (const double value : values) found += value * value;
  if (std::abs(found - expected) > 1e-10 * expected) return state.SkipWithError("wrong answer");
  for (auto _ : state) benchmark::DoNotOptimize(product_singular_values(a, b));
}
BENCHMARK(circuit)
    ->ArgNames({"head_dim", "width"})
    ->Args({64, 768})
    ->Args({128, 4096})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace attnscope
