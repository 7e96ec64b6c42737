// Times one forward pass of a checkpoint: products, attention and maps, without startup and
// reading.
//
//     forward_bench MODEL TOKENS SEQUENCES THREADS MAPS [PASSES]
//
// MAPS: 1 to compute the attention maps of every layer, else 0. Prints a line of JSON: the median
// seconds of a pass, the float32 operations of its products, and the peak memory of the process.
// It also has the seconds and operations of OpenBLAS's product of two 2048 x 2048 matrices, which
// is measured between passes.
#include <cblas.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/numerics/compute.h"

extern "C" void openblas_set_num_threads(int);

namespace {

using namespace attnscope;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double product_flops(const Model& model, double rows) {
  double weights = 0;
  for (const Role role : kProjections) {
    if (!model.describes(role)) continue;
    const auto [outputs, inputs] = canonical_shape(model.dimensions(), role);
    weights += static_cast<double>(outputs) * static_cast<double>(inputs);
  }
  return 2 * rows * weights * static_cast<double>(model.dimensions().layers);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: forward_bench MODEL TOKENS SEQUENCES THREADS MAPS [PASSES]\n");
    return 2;
  }
  const Model model = Model::open(argv[1]);
  const std::int64_t tokens = std::atoll(argv[2]), sequences = std::atoll(argv[3]);
  const int threads = std::atoi(argv[4]), passes = argc > 6 ? std::atoi(argv[6]) : 5;
  const bool with_maps = std::atoi(argv[5]) != 0;

  Team team;
  bool done = false;
  std::vector<std::jthread> helpers;
  for (int helper = 1; helper < threads; ++helper) {
    helpers.emplace_back([&] { team.lend([&] { return done; }); });
  }
  const Compute compute{.team = &team};
  const ForwardPass pass(model, /*copy_weights=*/true, compute);

  std::mt19937_64 generator(1);
  std::vector<TokenIds> batch(static_cast<std::size_t>(sequences));
  for (TokenIds& ids : batch) {
    for (std::int64_t at = 0; at < tokens; ++at) {
      ids.push_back(
          static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(pass.vocabulary())));
    }
  }
  double seen = 0;  // uses the results, so that nothing is optimized away
  ForwardObserver observer;
  if (with_maps) observer.on_maps = [&](const LayerMaps& maps) { seen += maps.maps[0](0, 0); };

  constexpr int kOrder = 2048;
  const std::vector<float> matrix(kOrder * kOrder, 0.5F);
  std::vector<float> product(matrix.size());
  openblas_set_num_threads(threads);
  std::vector<double> own, peak;
  for (int repeat = 0; repeat < passes; ++repeat) {
    own.push_back(seconds_of([&] { pass.run(batch, observer, compute); }));
    peak.push_back(seconds_of([&] {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, kOrder, kOrder, kOrder, 1, matrix.data(),
                  kOrder, matrix.data(), kOrder, 0, product.data(), kOrder);
    }));
  }
  done = true;
  team.recall();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double rows = static_cast<double>(tokens) * static_cast<double>(sequences);
  std::printf(
      "{\"seconds\": %.6g, \"product_flops\": %.6g, \"peak_bytes\": %.6g, \"sgemm_seconds\": %.6g, "
      "\"sgemm_flops\": %.6g, \"seen\": %.6g}\n",
      median(own), product_flops(model, rows), static_cast<double>(usage.ru_maxrss) * 1024,
      median(peak), 2.0 * kOrder * kOrder * kOrder, seen);
  return 0;
}
