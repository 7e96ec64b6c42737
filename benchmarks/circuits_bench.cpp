// Circuits on the shapes of real models, one thread, as the pipeline computes them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "attnscope/analysis/circuit_measures.h"
#include "attnscope/numerics/singular_values.h"
#include "attnscope/pipeline/work_queue.h"

namespace attnscope {
namespace {

Matrix<double> gaussian(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Matrix<double> out(rows, cols);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::generate_n(out.data(), rows * cols, [&] { return normal(random); });
  return out;
}

/// ‖leftᵀ right‖_F of one head from QR factors: a wrong answer is not worth timing.
bool keeps_norm(const CircuitMeasures& measures, MatrixView<const double> left,
                MatrixView<const double> right) {
  double sum = 0;
  for (const double value : product_singular_values(left, right).values) sum += value * value;
  return std::abs(measures.frobenius_norm - std::sqrt(sum)) <= 1e-9 * std::sqrt(sum);
}

/// Every figure of every head of one layer.
void layer_heads(benchmark::State& state) {
  const std::int64_t width = state.range(0), heads = state.range(1), kv_heads = state.range(2);
  const std::int64_t head_dim = state.range(3), group = heads / kv_heads;
  const Matrix<double> q = gaussian(heads * head_dim, width, 1);
  const Matrix<double> k = gaussian(kv_heads * head_dim, width, 2);
  const auto left = [&](std::int64_t head) {
    return q.view().row_block(head * head_dim, head_dim);
  };
  const auto right = [&](std::int64_t head) {
    return k.view().row_block(head / group * head_dim, head_dim);
  };
  const CircuitMeasures first =
      measure_circuit(make_thin_factor(left(0)), make_thin_factor(right(0)),
                      /*with_eigenvalues=*/true);
  if (!keeps_norm(first, left(0), right(0))) return state.SkipWithError("wrong answer");
  for (auto _ : state) {
    ThinFactor shared;
    for (std::int64_t head = 0; head < heads; ++head) {
      if (head % group == 0) shared = make_thin_factor(right(head));
      benchmark::DoNotOptimize(measure_circuit(make_thin_factor(left(head)), shared,
                                               /*with_eigenvalues=*/true));
    }
  }
  state.counters["heads/s"] = {static_cast<double>(heads),
                               benchmark::Counter::kIsIterationInvariantRate};
}
BENCHMARK(layer_heads)
    ->ArgNames({"width", "heads", "kv_heads", "head_dim"})
    ->Args({4096, 32, 8, 128})  // Llama-3-8B
    ->Args({768, 12, 12, 64})   // GPT-2 small
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// Singular values alone, of the 144 qk circuits of GPT-2 small, on all cores as the pipeline runs
/// them.
void gpt2_singular_values(benchmark::State& state) {
  constexpr std::int64_t kCircuits = 144, kHeadDim = 64, kWidth = 768;
  std::vector<Matrix<double>> factors;
  for (std::uint64_t seed = 0; seed < 2 * kCircuits; ++seed) {
    factors.push_back(gaussian(kHeadDim, kWidth, seed));
  }
  const auto values = [&](std::size_t circuit) {
    return thin_product_singular_values(
        make_thin_factor(factors[2 * circuit].view(), /*with_values=*/false),
        make_thin_factor(factors[2 * circuit + 1].view(), /*with_values=*/false));
  };
  const auto wanted = product_singular_values(factors[0].view(), factors[1].view()).values;
  const ThinFactor left = make_thin_factor(factors[0].view());
  const ThinFactor right = make_thin_factor(factors[1].view());
  const double largest = std::ldexp(values(0).front(), left.exponent + right.exponent);
  if (std::abs(largest - wanted.front()) > 1e-10 * wanted.front()) {
    return state.SkipWithError("wrong answer");
  }
  std::vector<WorkItem> items;
  for (std::size_t circuit = 0; circuit < kCircuits; ++circuit) {
    items.push_back({.run = [&values, circuit] { benchmark::DoNotOptimize(values(circuit)); }});
  }
  for (auto _ : state) run_all(items, {.threads = default_threads()}, {});
  state.counters["circuits/s"] = {static_cast<double>(kCircuits),
                                  benchmark::Counter::kIsIterationInvariantRate};
}
BENCHMARK(gpt2_singular_values)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace attnscope
