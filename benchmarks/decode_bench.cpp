// Decoding of stored weights, in bytes of the file per second.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {
namespace {

/// Bits that are small normal numbers in every 16-bit dtype, different in each element.
std::vector<std::byte> weight_bytes(std::int64_t elements) {
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(2 * elements));
  for (std::int64_t index = 0; index < elements; ++index) {
    bytes.push_back(static_cast<std::byte>(index * 37 & 0xFF));
    bytes.push_back(static_cast<std::byte>(index & 1 ? 0x3C : 0xBC));
  }
  return bytes;
}

/// `transposed`: stored as (inputs, outputs), as in Conv1D.
void decode_weight(benchmark::State& state, DType dtype, bool transposed) {
  constexpr std::int64_t kRows = 3072, kCols = 1024;
  const std::vector<std::byte> bytes = weight_bytes(kRows * kCols);
  TensorMatrix stored{.tensor = {dtype, {kRows, kCols}, bytes},
                      .rows = kRows,
                      .cols = kCols,
                      .row_stride = transposed ? 1 : kCols,
                      .col_stride = transposed ? kRows : 1,
                      .block_rows = kRows,
                      .block_stride = 0};
  const auto once = decode<float>(stored);
  const float corner = once(1, 0);  // element 1, or the first of row 1
  const float expected = decode<float>(whole_matrix(stored.tensor)).data()[transposed ? 1 : kCols];
  if (corner != expected) return state.SkipWithError("wrong answer");
  for (auto _ : state) benchmark::DoNotOptimize(decode<float>(stored));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK_CAPTURE(decode_weight, bf16, DType::bf16, false)->UseRealTime();
BENCHMARK_CAPTURE(decode_weight, bf16_transposed, DType::bf16, true)->UseRealTime();
BENCHMARK_CAPTURE(decode_weight, f16, DType::f16, false)->UseRealTime();

}  // namespace
}  // namespace attnscope
