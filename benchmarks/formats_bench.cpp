// Cost of reading checkpoint formats: decoding to float32, in bytes of output per second on one
// core. Reference: a plain copy of the same number of bytes.
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <vector>

#include "attnscope/checkpoint/gguf/block_source.h"
#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {
namespace {

constexpr std::int64_t kRows = 1024, kCols = 4096;  // W_Q of a model with a few billion parameters

void copy(benchmark::State& state) {
  const std::vector<float> from(kRows * kCols, 1.0F);
  Matrix<float> to(kRows, kCols);
  std::memcpy(to.data(), from.data(), from.size() * sizeof(float));  // maps the pages before timing
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size() * sizeof(float));
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * kRows * kCols * 4);
}
BENCHMARK(copy);

std::vector<std::byte> random_bytes(std::int64_t count) {
  std::mt19937 random(1);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  // Bytes below 0x70, so that no scale, wherever its bytes are, is infinite.
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 0x70);
  return bytes;
}

void decode_type(benchmark::State& state, const GgmlType& type) {
  const auto bytes = random_bytes(kRows * kCols / type.block_values * type.block_bytes);
  const GgufTensor tensor{.name = "t", .shape = {kRows, kCols}, .type = &type, .bytes = bytes};
  const TensorMatrix matrix = whole_matrix(view_of(tensor, /*big_endian=*/false));
  Matrix<float> out(kRows, kCols);
  decode_block(matrix, 0, 0, out.view());
  std::vector<float> first(static_cast<std::size_t>(type.block_values));
  if (type.decode != nullptr) {
    type.decode(reinterpret_cast<const std::uint8_t*>(bytes.data()), first.data());
    if (first.back() != out(0, type.block_values - 1)) return state.SkipWithError("wrong answer");
  }
  for (auto _ : state) {
    decode_block(matrix, 0, 0, out.view());
    benchmark::DoNotOptimize(out.data());
  }
  state.SetBytesProcessed(state.iterations() * kRows * kCols * 4);
}

const bool registered = [] {
  for (const GgmlType& type : ggml_types()) {
    const bool real = type.plain && dtype_info(*type.plain).kind == DTypeClass::real;
    if (type.decode == nullptr && !real) continue;
    const std::string name = "decode/" + std::string(type.name);
    benchmark::RegisterBenchmark(name.c_str(),
                                 [&type](benchmark::State& state) { decode_type(state, type); });
  }
  return true;
}();

}  // namespace
}  // namespace attnscope
