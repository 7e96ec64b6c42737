// Circuits with shapes of real models on one thread, computed as in the pipeline.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "attnscope/engine/work_queue.h"
#include "attnscope/features/circuits/measures.h"
#include "attnscope/features/common/composition_measures.h"
#include "attnscope/numerics/products/dense_products.h"
#include "attnscope/numerics/products/factored_product_batch.h"
#include "attnscope/numerics/svd/singular_values.h"

namespace attnscope {
namespace {

Matrix<double> gaussian(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Matrix<double> out(rows, cols);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::generate_n(out.data(), rows * cols, [&] { return normal(random); });
  return out;
}

/// Checks ‖leftᵀ right‖_F of one head against QR factors before anything is timed.
bool keeps_norm(const CircuitMeasures& measures, MatrixView<const double> left,
                MatrixView<const double> right) {
  double sum = 0;
  for (const double value : product_singular_values(left, right).values) sum += value * value;
  return std::abs(measures.frobenius_norm - std::sqrt(sum)) <= 1e-9 * std::sqrt(sum);
}

/// All statistics of all heads of one layer.
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
      measure_circuit(make_product_factor(left(0)), make_product_factor(right(0)),
                      /*with_eigenvalues=*/true);
  if (!keeps_norm(first, left(0), right(0))) return state.SkipWithError("wrong answer");
  for (auto _ : state) {
    ProductFactor shared;
    for (std::int64_t head = 0; head < heads; ++head) {
      if (head % group == 0) shared = make_product_factor(right(head));
      benchmark::DoNotOptimize(measure_circuit(make_product_factor(left(head)), shared,
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

/// Only the singular values, for the 144 qk circuits of GPT-2 small. One item per layer, on all
/// cores as in the pipeline.
void gpt2_singular_values(benchmark::State& state) {
  constexpr std::int64_t kLayers = 12, kHeads = 12, kHeadDim = 64, kWidth = 768;
  std::vector<Matrix<double>> weights;  // W_Q, W_K of each layer
  for (std::uint64_t seed = 0; seed < 2 * kLayers; ++seed) {
    weights.push_back(gaussian(kHeads * kHeadDim, kWidth, seed));
  }
  const auto layer_values = [&](std::size_t layer, const Compute& compute) {
    std::vector<FactorPair> pairs;
    for (std::int64_t head = 0; head < kHeads; ++head) {
      pairs.push_back({weights[2 * layer].view().row_block(head * kHeadDim, kHeadDim),
                       weights[2 * layer + 1].view().row_block(head * kHeadDim, kHeadDim)});
    }
    return factored_products_singular_values(pairs, compute);
  };
  const auto wanted = product_singular_values(weights[0].view().row_block(0, kHeadDim),
                                              weights[1].view().row_block(0, kHeadDim))
                          .values;
  const auto found = std::get<SingularValues>(layer_values(0, {}).front()).values;
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    if (!(std::abs(found[at] - wanted[at]) <= 1e-7 * wanted.front())) {
      return state.SkipWithError("wrong answer");
    }
  }
  std::vector<QueueItem> items;
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    items.push_back({.run = [&, layer](const Compute& compute) {
      benchmark::DoNotOptimize(layer_values(layer, compute));
    }});
  }
  for (auto _ : state) run_queue(items, {.threads = default_threads()});
  state.counters["circuits/s"] = {static_cast<double>(kLayers * kHeads),
                                  benchmark::Counter::kIsIterationInvariantRate};
}
BENCHMARK(gpt2_singular_values)->UseRealTime()->Unit(benchmark::kMillisecond);

/// The heads of two layers, from the arguments width, heads, kv_heads, head_dim.
struct LayerPair {
  HeadShape heads;
  Matrix<double> query, key, value,
      output;  // q, k, v, o of the later layer; o and v also serve as the earlier layer's

  explicit LayerPair(const benchmark::State& state)
      : heads{.heads = state.range(1),
              .kv_heads = state.range(2),
              .head_dim = state.range(3),
              .value_dim = state.range(3)},
        query(gaussian(heads.heads * heads.head_dim, state.range(0), 1)),
        key(gaussian(heads.kv_heads * heads.head_dim, state.range(0), 2)),
        value(gaussian(heads.kv_heads * heads.head_dim, state.range(0), 3)),
        output(gaussian(state.range(0), heads.heads * heads.head_dim, 4)) {}

  CircuitWeights qk() const { return {Role::qk, query.view(), key.view(), heads}; }
  CircuitWeights ov() const { return {Role::ov, output.view(), value.view(), heads}; }
  HeadRange all() const { return {0, heads.heads}; }
  CircuitWeights weights_for(ReadingKind kind) const {
    return kind == ReadingKind::value ? ov() : qk();
  }

  struct Prepared {
    std::vector<ReadingHeads> readers;
    WritingHeads writers;
  };
  Prepared prepare() const {
    Prepared out{.readers = {}, .writers = prepare_writers(ov(), all())};
    for (const ReadingKind kind : kReadingKinds) {
      out.readers.push_back(prepare_readers(weights_for(kind), kind, all()));
    }
    return out;
  }
};

/// The preparation of one layer, which all pairs with this layer share.
void composition_of_a_layer(benchmark::State& state) {
  const LayerPair layers(state);
  for (auto _ : state) benchmark::DoNotOptimize(layers.prepare());
}

/// The scores of all heads of one layer with all heads of another: one item of `--composition`.
void composition_of_a_pair(benchmark::State& state) {
  const LayerPair layers(state);
  const LayerPair::Prepared prepared = layers.prepare();
  // Checks the V-composition of the last heads against a QR of the whole product.
  const CircuitFactors last = head_factors(layers.ov(), layers.heads.heads - 1);
  const Matrix<double> between = multiply_transposed(last.right, last.left);
  const Matrix<double> right = multiply_transposed(between.view(), last.right.transposed());
  const auto norm = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value * value;
    return std::sqrt(sum);
  };
  const double own = norm(product_singular_values(last.left, last.right).values);
  const double wanted = norm(product_singular_values(last.left, right.view()).values) / own / own;
  const Matrix<double> found = composition_scores(prepared.readers.back(), prepared.writers);
  const double score = found(found.rows() - 1, found.cols() - 1);
  if (!(std::abs(score - wanted) <= 1e-12 * wanted)) return state.SkipWithError("wrong answer");
  for (auto _ : state) {
    for (const ReadingHeads& readers : prepared.readers) {
      benchmark::DoNotOptimize(composition_scores(readers, prepared.writers));
    }
  }
  // Every receiver with every sender: by q of each head, and by k and v of each key/value head.
  // Then the triangular factor of the other matrix for k and v.
  const auto width = static_cast<double>(state.range(0)), dim = static_cast<double>(state.range(3));
  const double rows = dim * static_cast<double>(layers.heads.heads);
  const double kv_rows = dim * static_cast<double>(layers.heads.kv_heads);
  state.counters["flop/s"] = {2 * (rows + 2 * kv_rows) * rows * width + 4 * rows * rows * dim,
                              benchmark::Counter::kIsIterationInvariantRate};
}

void composition_shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"width", "heads", "kv_heads", "head_dim"})
      ->Args({4096, 32, 8, 128})  // Llama-3-8B
      ->Args({768, 12, 12, 64})   // GPT-2 small
      ->MeasureProcessCPUTime()
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}
BENCHMARK(composition_of_a_layer)->Apply(composition_shapes);
BENCHMARK(composition_of_a_pair)->Apply(composition_shapes);

}  // namespace
}  // namespace attnscope
