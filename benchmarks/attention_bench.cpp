// One attention head on one core. References: OpenBLAS's two products of the full square without
// softmax, and the rate of OpenBLAS's product of large matrices.
#include "attnscope/numerics/inference/attention.h"

#include <benchmark/benchmark.h>
#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace attnscope {
namespace {

Matrix<float> gaussian(std::int64_t rows, std::int64_t cols, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Matrix<float> out(rows, cols);
  std::generate_n(out.data(), rows * cols, [&] { return normal(random); });
  return out;
}

/// Queries, keys and values of 12 heads next to each other, in the layout of the projection.
struct Projected {
  Projected(std::int64_t tokens, std::int64_t depth)
      : d(depth), rows(gaussian(tokens, 3 * kHeads * depth, 1)) {}
  static constexpr std::int64_t kHeads = 12;
  std::int64_t d;
  Matrix<float> rows;
  MatrixView<const float> part(std::int64_t which) const {
    return rows.view().col_block((which * kHeads + 5) * d, d);
  }
};

/// Checks the attention weights of the last query in float64.
bool last_row_is_right(const Projected& x, MatrixView<const float> maps, double scale) {
  const MatrixView<const float> q = x.part(0), k = x.part(1);
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t key = 0; key < k.rows; ++key) {
    double score = 0;
    for (std::int64_t at = 0; at < x.d; ++at) {
      score += static_cast<double>(q(q.rows - 1, at)) * static_cast<double>(k(key, at));
    }
    sum += weights.emplace_back(std::exp(scale * score));
  }
  for (std::int64_t key = 0; key < k.rows; ++key) {
    const double wanted = weights[static_cast<std::size_t>(key)] / sum;
    if (!(std::abs(static_cast<double>(maps(k.rows - 1, key)) - wanted) < 1e-6)) return false;
  }
  return true;
}

void attention(benchmark::State& state) {
  const std::int64_t tokens = state.range(0), d = state.range(1);
  const bool keeps_maps = state.range(2) != 0;
  const Projected x(tokens, d);
  const AttentionRule rule{
      .scale = 1 / std::sqrt(static_cast<float>(d)),
      .mask = state.range(3) != 0 ? AttentionMask::causal() : AttentionMask::bidirectional()};
  AlignedBuffer<float> map_memory;
  const MatrixView<float> maps{map_memory.reserve(static_cast<std::size_t>(tokens * tokens)),
                               tokens, tokens, tokens};
  Matrix<float> out(tokens, d);
  AttentionScratch scratch;
  const auto run = [&](MatrixView<float> kept) {
    attend(x.part(0), x.part(1), x.part(2), rule, kept, out.view(), scratch, {});
  };
  run(maps);
  if (!last_row_is_right(x, maps, static_cast<double>(rule.scale))) {
    return state.SkipWithError("wrong answer");
  }
  for (auto _ : state) {
    run(keeps_maps ? maps : MatrixView<float>{});
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(attention)
    ->ArgNames({"T", "d", "maps", "causal"})
    ->Args({100, 64, 1, 1})
    ->Args({100, 64, 1, 0})
    ->Args({512, 64, 1, 0})
    ->Args({1024, 64, 1, 1})
    ->Args({1024, 64, 0, 1})
    ->Args({1024, 128, 0, 1})
    ->Args({2048, 64, 1, 1})
    ->Args({2048, 64, 0, 1})
    ->Unit(benchmark::kMicrosecond);

void openblas_full_square(benchmark::State& state) {
  openblas_set_num_threads(1);
  const std::int64_t tokens = state.range(0), d = state.range(1);
  const Projected x(tokens, d);
  const int n = static_cast<int>(tokens), depth = static_cast<int>(d);
  const int stride = static_cast<int>(x.rows.cols());
  Matrix<float> maps(tokens, tokens), out(tokens, d);
  for (auto _ : state) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, depth, 0.125F, x.part(0).data,
                stride, x.part(1).data, stride, 0, maps.data(), n);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, depth, n, 1, maps.data(), n,
                x.part(2).data, stride, 0, out.data(), depth);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(openblas_full_square)
    ->ArgNames({"T", "d"})
    ->Args({100, 64})
    ->Args({512, 64})
    ->Args({1024, 64})
    ->Args({1024, 128})
    ->Args({2048, 64})
    ->Unit(benchmark::kMicrosecond);

void openblas_peak(benchmark::State& state) {
  openblas_set_num_threads(1);
  constexpr int kSide = 2048;
  const Matrix<float> a = gaussian(kSide, kSide, 1), b = gaussian(kSide, kSide, 2);
  Matrix<float> out(kSide, kSide);
  for (auto _ : state) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, kSide, kSide, kSide, 1, a.data(), kSide,
                b.data(), kSide, 0, out.data(), kSide);
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["flop/s"] = {2.0 * kSide * kSide * kSide,
                              benchmark::Counter::kIsIterationInvariantRate};
}
BENCHMARK(openblas_peak)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace attnscope
