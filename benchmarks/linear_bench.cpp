// Linear layers with shapes of GPT-2 small and Llama-1B, compared with OpenBLAS's sgemm in the same
// run. Rates are per second of CPU time over all threads, so that other load on the machine matters
// less.
#include "attnscope/numerics/inference/linear.h"

#include <benchmark/benchmark.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/lapack/lapack.h"

namespace attnscope {
namespace {

std::vector<float> random_values(std::int64_t count) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& value : out) value = uniform(random);
  return out;
}

struct Problem {
  std::int64_t rows, inputs, outputs;
  std::vector<float> x = random_values(rows * inputs);
  std::vector<float> w = random_values(outputs * inputs);
  std::vector<float> y = std::vector<float>(static_cast<std::size_t>(rows * outputs));
  std::vector<std::byte> halves = {};  // w as bfloat16

  explicit Problem(const benchmark::State& state)
      : rows(state.range(0)), inputs(state.range(1)), outputs(state.range(2)) {}

  MatrixView<const float> input() const { return {x.data(), rows, inputs, inputs, 1}; }
  MatrixView<float> output() { return {y.data(), rows, outputs, outputs, 1}; }

  /// The weights as stored in a file. For bf16, `w` is rounded too.
  TensorMatrix stored(DType dtype) {
    if (dtype == DType::f32) {
      return whole_matrix({dtype, {outputs, inputs}, std::as_bytes(std::span(w))});
    }
    halves.resize(2 * w.size());
    for (std::size_t at = 0; at < w.size(); ++at) {
      auto* bytes = reinterpret_cast<std::byte*>(&w[at]);
      bytes[0] = bytes[1] = std::byte{0};
      std::memcpy(&halves[2 * at], bytes + 2, 2);
    }
    return whole_matrix({DType::bf16, {outputs, inputs}, halves});
  }

  /// Checks some of the results against float64.
  bool is_solved() const {
    for (std::int64_t at = 0; at < rows * outputs; at += rows * outputs / 100 + 1) {
      double sum = 0;
      for (std::int64_t k = 0; k < inputs; ++k) {
        sum += static_cast<double>(x[static_cast<std::size_t>(at / outputs * inputs + k)]) *
               static_cast<double>(w[static_cast<std::size_t>(at % outputs * inputs + k)]);
      }
      if (std::abs(static_cast<double>(y[static_cast<std::size_t>(at)]) - sum) > 1e-3) return false;
    }
    return true;
  }

  void count(benchmark::State& state) const {
    const auto weights = static_cast<double>(inputs) * static_cast<double>(outputs);
    using benchmark::Counter;
    state.counters["flop/s"] = {2 * static_cast<double>(rows) * weights,
                                Counter::kIsIterationInvariantRate};
    state.counters["weights/s"] = {weights, Counter::kIsIterationInvariantRate};
  }
};

void sgemm(benchmark::State& state) {
  Problem problem(state);
  const MatrixView<const float> w = {problem.w.data(), problem.outputs, problem.inputs,
                                     problem.inputs, 1};
  const auto run = [&] { lapack::multiply_transposed(problem.input(), w, problem.output()); };
  run();
  if (!problem.is_solved()) return state.SkipWithError("wrong answer");
  for (auto _ : state) run();
  problem.count(state);
}

void linear(benchmark::State& state, DType dtype, bool packed, int threads) {
  Problem problem(state);
  Team team;
  std::atomic<bool> over = false;
  std::vector<std::jthread> helpers;
  for (int thread = 1; thread < threads; ++thread) {
    helpers.emplace_back([&] { team.lend([&] { return over.load(); }); });
  }
  const Compute compute = {.team = &team};
  const LinearWeights weights({problem.stored(dtype)}, packed, compute);
  const auto run = [&] { apply_linear(problem.input(), weights, {}, problem.output(), compute); };
  run();
  if (problem.is_solved()) {
    for (auto _ : state) run();
    problem.count(state);
  } else {
    state.SkipWithError("wrong answer");
  }
  over = true;
  team.recall();
}

void pack(benchmark::State& state, DType dtype) {
  Problem problem(state);
  const TensorMatrix stored = problem.stored(dtype);
  for (auto _ : state) benchmark::DoNotOptimize(LinearWeights({stored}, true, {}));
  problem.count(state);
}

void gpt2_shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "inputs", "outputs"});
  for (const std::int64_t rows : {100, 400, 1000}) {
    benchmark->Args({rows, 768, 2304})->Args({rows, 3072, 768});
  }
  benchmark->Args({2048, 2048, 2048})->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);
}

void llama_shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "inputs", "outputs"});
  for (const std::int64_t rows : {1, 100, 400}) {  // 1: text generation
    benchmark->Args({rows, 2048, 8192})->Args({rows, 8192, 2048});
  }
  benchmark->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK(sgemm)->Apply(gpt2_shapes);
BENCHMARK_CAPTURE(linear, packed, DType::f32, true, 1)->Apply(gpt2_shapes);
BENCHMARK_CAPTURE(linear, packed_2_threads, DType::f32, true, 2)->Apply(gpt2_shapes);
BENCHMARK_CAPTURE(linear, packed, DType::f32, true, 1)->Apply(llama_shapes);
BENCHMARK_CAPTURE(linear, bf16_as_used, DType::bf16, false, 1)->Apply(llama_shapes);
BENCHMARK_CAPTURE(pack, f32, DType::f32)->ArgNames({"", "inputs", "outputs"})->Args({1, 768, 2304});
BENCHMARK_CAPTURE(pack, bf16, DType::bf16)
    ->ArgNames({"", "inputs", "outputs"})
    ->Args({1, 768, 2304});

}  // namespace
}  // namespace attnscope
