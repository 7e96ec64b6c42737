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

/// Singular values alone, of the 144 qk circuits of GPT-2 small, a layer an item, on all cores as
/// the pipeline runs them.
void gpt2_singular_values(benchmark::State& state) {
  constexpr std::int64_t kLayers = 12, kHeads = 12, kHeadDim = 64, kWidth = 768;
  std::vector<Matrix<double>> weights;  // W_Q, W_K of each layer
  for (std::uint64_t seed = 0; seed < 2 * kLayers; ++seed) {
    weights.push_back(gaussian(kHeads * kHeadDim, kWidth, seed));
  }
  const auto layer_values = [&](std::size_t layer) {
    std::vector<ThinPair> pairs;
    for (std::int64_t head = 0; head < kHeads; ++head) {
      pairs.push_back({weights[2 * layer].view().row_block(head * kHeadDim, kHeadDim),
                       weights[2 * layer + 1].view().row_block(head * kHeadDim, kHeadDim)});
    }
    return thin_products_singular_values(pairs);
  };
  const auto wanted = product_singular_values(weights[0].view().row_block(0, kHeadDim),
                                              weights[1].view().row_block(0, kHeadDim))
                          .values;
  const auto found = std::get<SingularValues>(layer_values(0).front()).values;
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    if (!(std::abs(found[at] - wanted[at]) <= 1e-7 * wanted.front())) {
      return state.SkipWithError("wrong answer");
    }
  }
  std::vector<WorkItem> items;
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    items.push_back({.run = [&, layer] { benchmark::DoNotOptimize(layer_values(layer)); }});
  }
  for (auto _ : state) run_all(items, {.threads = default_threads()}, {});
  state.counters["circuits/s"] = {static_cast<double>(kLayers * kHeads),
                                  benchmark::Counter::kIsIterationInvariantRate};
}
BENCHMARK(gpt2_singular_values)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace attnscope
