// Singular values of many small matrices, such as attention maps, at once on all cores.
#include "attnscope/numerics/svd/batched_singular_values.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "attnscope/engine/work_queue.h"
#include "attnscope/numerics/svd/singular_values.h"

namespace attnscope {
namespace {

/// Causal attention maps of random scores: rows sum to 1.
std::vector<Matrix<float>> attention_maps(std::int64_t count, std::int64_t size) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> score(0, 2);
  std::vector<Matrix<float>> maps;
  for (std::int64_t index = 0; index < count; ++index) {
    Matrix<float> map(size, size);
    for (std::int64_t row = 0; row < size; ++row) {
      double sum = 0;
      std::vector<double> weights;
      for (std::int64_t col = 0; col <= row; ++col)
        sum += weights.emplace_back(std::exp(score(random)));
      for (std::int64_t col = 0; col < size; ++col) {
        map(row, col) =
            col <= row ? static_cast<float>(weights[static_cast<std::size_t>(col)] / sum) : 0;
      }
    }
    maps.push_back(std::move(map));
  }
  return maps;
}

bool equals_plain(MatrixView<const float> map, const double* values) {
  const std::vector<double> plain = plain_singular_values(map).values;
  for (std::size_t at = 0; at < plain.size(); ++at) {
    if (!(std::abs(plain[at] - values[at]) <= 1e-7 * plain[0])) return false;
  }
  return true;
}

void attention_maps(benchmark::State& state) {
  const auto maps = attention_maps(state.range(1), state.range(0));
  std::vector<MatrixView<const float>> views;
  for (const Matrix<float>& map : maps) views.push_back(map.view());
  const auto size = static_cast<std::size_t>(state.range(0));
  std::vector<double> values(maps.size() * size);
  small_singular_values(views, values.data());
  for (std::size_t at = 0; at < maps.size(); at += maps.size() / 7) {
    if (!equals_plain(views[at], values.data() + at * size))
      return state.SkipWithError("wrong answer");
  }
  constexpr std::size_t kMapsPerItem = 64;
  std::vector<QueueItem> items;
  for (std::size_t first = 0; first < views.size(); first += kMapsPerItem) {
    const std::size_t count = std::min(kMapsPerItem, views.size() - first);
    items.push_back({.run = [&, first, count](const Compute& compute) {
      small_singular_values(std::span(views).subspan(first, count), values.data() + first * size,
                            compute);
    }});
  }
  for (auto _ : state) {
    run_queue(items, {.threads = default_threads()});
    benchmark::DoNotOptimize(values.data());
  }
  state.counters["per_map"] = {
      static_cast<double>(maps.size()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert};
}
BENCHMARK(attention_maps)
    ->ArgNames({"size", "count"})
    ->Args({64, 1024})
    ->Args({128, 1024})
    ->Args({100, 14400})  // 100 sequences, 12 layers of 12 heads
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace attnscope
