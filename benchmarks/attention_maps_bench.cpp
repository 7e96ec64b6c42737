// Attention statistics on one core: all of them for small maps, only the energy rank for large
// maps.
#include <benchmark/benchmark.h>

#include <vector>

#include "attnscope/features/attention/map_rank.h"
#include "attnscope/features/attention/measures.h"
#include "attnscope/features/spectrum/measures.h"
#include "attnscope/numerics/attention_maps/map_sums.h"
#include "attnscope/numerics/svd/singular_values.h"
#include "tests/support/attention_maps.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

std::vector<MatrixView<const float>> views_of(const std::vector<Matrix<float>>& maps) {
  std::vector<MatrixView<const float>> views;
  for (const Matrix<float>& map : maps) views.push_back(map.view());
  return views;
}

/// 720 causal maps of 100 tokens: five sequences in a model of 12 layers with 12 heads.
std::vector<Matrix<float>> small_maps() {
  std::vector<Matrix<float>> maps;
  for (std::uint64_t seed = 0; seed < 720; ++seed) {
    maps.push_back(test::softmax_map(100, 16, 2.0, /*causal=*/true, seed));
  }
  return maps;
}

void count_maps(benchmark::State& state, std::size_t maps) {
  state.counters["per_map"] = {
      static_cast<double>(maps),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert};
}

void all_measures(benchmark::State& state) {
  const std::vector<Matrix<float>> maps = small_maps();
  const auto views = views_of(maps);
  const auto measures = measure_attention_maps(views, {.causal = true});
  for (std::size_t at = 0; at < maps.size(); at += maps.size() / 7) {
    if (measures[at].value("energy_rank") !=
        energy_rank(plain_singular_values(views[at]).values, 0.9)) {
      return state.SkipWithError("wrong answer");
    }
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(measure_attention_maps(views, {.causal = true}));
  }
  count_maps(state, maps.size());
}
BENCHMARK(all_measures)->Unit(benchmark::kMillisecond);

void sums_alone(benchmark::State& state) {
  const std::vector<Matrix<float>> maps = small_maps();
  std::vector<double> squares;
  for (auto _ : state) {
    for (const Matrix<float>& map : maps) {
      benchmark::DoNotOptimize(sum_map(map.view(), /*causal=*/true, squares));
    }
  }
  count_maps(state, maps.size());
}
BENCHMARK(sums_alone)->Unit(benchmark::kMillisecond);

/// The energy rank of a large map. `full`: from all singular values. `sharpness` is in tenths: 2
/// corresponds to random weights; with 20, the rank is a quarter of the number of tokens.
void rank_of_large_map(benchmark::State& state, bool full) {
  const Matrix<float> map =
      test::softmax_map(state.range(0), 64, 0.1 * static_cast<double>(state.range(1)),
                        /*causal=*/true, 1);
  const std::vector<MatrixView<const float>> views = {map.view()};
  const Matrix<double> exact = test::converted<double>(map);
  const auto by_values = [&] { return energy_rank(singular_values(exact.view()).values, 0.9); };
  if (map_energy_ranks(views, 0.9).front() != by_values()) {
    return state.SkipWithError("wrong answer");
  }
  for (auto _ : state) {
    if (full) {
      benchmark::DoNotOptimize(by_values());
    } else {
      benchmark::DoNotOptimize(map_energy_ranks(views, 0.9));
    }
  }
}
BENCHMARK_CAPTURE(rank_of_large_map, bounded, /*full=*/false)
    ->ArgsProduct({{512, 1024, 2048}, {0, 2, 20}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(rank_of_large_map, full, /*full=*/true)
    ->ArgsProduct({{512, 1024, 2048}, {2}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace attnscope
