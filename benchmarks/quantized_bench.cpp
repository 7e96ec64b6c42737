// Decoding of quantized weights, in bytes of float32 per second. Reference: a plain copy.
#include <benchmark/benchmark.h>

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/tensor/decode.h"
#include "attnscope/tensor/tensor_matrix.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

using nlohmann::json;
using test::TensorToWrite;

constexpr std::int64_t kRows = 3072, kCols = 2048, kGroup = 128;

/// Random bits. Scales are between 1 and 2, or between -2 and -1.
TensorToWrite random_part(std::string name, const std::string& dtype, Shape shape) {
  const int bits = dtype_info(*dtype_from_name(dtype)).bits;
  TensorToWrite part = test::zero_tensor(std::move(name), dtype, bits, std::move(shape));
  std::mt19937 random(1);
  for (char& byte : part.bytes) byte = static_cast<char>(random());
  if (dtype == "F16") {
    for (std::size_t at = 1; at < part.bytes.size(); at += 2) part.bytes[at] = 0x3D;
  } else if (dtype == "F32") {
    for (std::size_t at = 3; at < part.bytes.size(); at += 4) part.bytes[at] = 0x3F;
  }
  return part;
}

struct Sample {
  json config;
  std::vector<TensorToWrite> parts;
};

Sample fp8() {
  return {{{"quant_method", "fp8"}},
          {random_part("a.weight", "F8_E4M3", {kRows, kCols}),
           random_part("a.weight_scale_inv", "F32", {kRows / 128, kCols / 128})}};
}

Sample gptq(int bits) {
  return {{{"quant_method", "gptq"}, {"group_size", kGroup}},
          {random_part("a.qweight", "I32", {kCols * bits / 32, kRows}),
           random_part("a.qzeros", "I32", {kCols / kGroup, kRows * bits / 32}),
           random_part("a.scales", "F16", {kCols / kGroup, kRows})}};
}

Sample gptq_any_order() {
  Sample sample = gptq(4);
  TensorToWrite groups = test::zero_tensor("a.g_idx", "I32", 32, {kCols});
  std::mt19937 random(2);
  for (std::size_t at = 0; at < groups.bytes.size(); at += 4) {
    groups.bytes[at] = static_cast<char>(random() % (kCols / kGroup));
  }
  sample.parts.push_back(groups);
  return sample;
}

Sample awq() {
  return {{{"quant_method", "awq"}},
          {random_part("a.qweight", "I32", {kCols, kRows / 8}),
           random_part("a.qzeros", "I32", {kCols / kGroup, kRows / 8}),
           random_part("a.scales", "F16", {kCols / kGroup, kRows})}};
}

Sample nf4() {
  const std::string state = json{
      {"blocksize", 64},
      {"dtype", "bfloat16"},
      {"shape", {kRows, kCols}},
      {"nested_blocksize", 256},
      {"nested_offset", 0.5}}.dump();
  return {{{"quant_method", "bitsandbytes"}},
          {random_part("a.weight", "U8", {kRows * kCols / 2, 1}),
           random_part("a.weight.absmax", "U8", {kRows * kCols / 64}),
           random_part("a.weight.quant_map", "F32", {16}),
           random_part("a.weight.nested_absmax", "F32", {kRows * kCols / 64 / 256}),
           random_part("a.weight.nested_quant_map", "F32", {256}),
           {"a.weight.quant_state.bitsandbytes__nf4", "U8", {std::ssize(state)}, state}}};
}

Sample int8() {
  return {{{"quant_method", "bitsandbytes"}},
          {random_part("a.weight", "I8", {kRows, kCols}), random_part("a.SCB", "F32", {kRows})}};
}

Sample packed(int bits) {
  TensorToWrite shape = test::zero_tensor("a.weight_shape", "I64", 64, {2});
  const std::int64_t sizes[] = {kRows, kCols};
  std::memcpy(shape.bytes.data(), sizes, sizeof sizes);
  const json weights = {
      {"num_bits", bits}, {"type", "int"}, {"strategy", "group"}, {"group_size", kGroup}};
  return {{{"quant_method", "compressed-tensors"},
           {"config_groups", {{"group_0", {{"weights", weights}}}}}},
          {random_part("a.weight_packed", "I32", {kRows, kCols * bits / 32}),
           random_part("a.weight_scale", "F16", {kRows, kCols / kGroup}), shape}};
}

Sample mxfp4() {
  return {{{"quant_method", "mxfp4"}},
          {random_part("a_blocks", "U8", {1, kRows, kCols / 32, 16}),
           random_part("a_scales", "U8", {1, kRows, kCols / 32})}};
}

void decode_quantized(benchmark::State& state, const Sample& sample) {
  const test::TempFolder folder;
  Checkpoint checkpoint =
      Checkpoint::open(folder.write("model.safetensors", test::safetensors_bytes(sample.parts)));
  checkpoint.compose_quantized(sample.config["quant_method"].get<std::string>(),
                               sample.config.dump(), "config.json");
  const TensorView& tensor = checkpoint.tensors()[0].view;
  const TensorMatrix matrix{.tensor = tensor,
                            .rows = tensor.rows(),
                            .cols = tensor.cols(),
                            .row_stride = tensor.cols(),
                            .block_rows = tensor.rows()};
  constexpr std::int64_t kBlock = 64;  // rows at a time, as in analyses
  Matrix<float> out(kBlock, matrix.cols);
  float single = 0;
  decode_elements(tensor, 5 * matrix.cols + 77, 1, 1, &single);
  decode_block<float>(matrix, 0, 0, out.view());
  if (std::bit_cast<std::uint32_t>(out(5, 77)) != std::bit_cast<std::uint32_t>(single)) {
    return state.SkipWithError("wrong answer");
  }
  for (auto _ : state) {
    for (std::int64_t row = 0; row < matrix.rows; row += kBlock) {
      decode_block<float>(matrix, row, 0, out.view());
      benchmark::DoNotOptimize(out.data());
    }
  }
  state.SetBytesProcessed(state.iterations() * 4 * matrix.rows * matrix.cols);
}
BENCHMARK_CAPTURE(decode_quantized, fp8, fp8());
BENCHMARK_CAPTURE(decode_quantized, gptq_4, gptq(4));
BENCHMARK_CAPTURE(decode_quantized, gptq_3, gptq(3));
BENCHMARK_CAPTURE(decode_quantized, gptq_8, gptq(8));
BENCHMARK_CAPTURE(decode_quantized, gptq_4_any_order, gptq_any_order());
BENCHMARK_CAPTURE(decode_quantized, awq, awq());
BENCHMARK_CAPTURE(decode_quantized, nf4_nested, nf4());
BENCHMARK_CAPTURE(decode_quantized, int8, int8());
BENCHMARK_CAPTURE(decode_quantized, packed_4, packed(4));
BENCHMARK_CAPTURE(decode_quantized, packed_3, packed(3));
BENCHMARK_CAPTURE(decode_quantized, mxfp4, mxfp4());

void copy_float32(benchmark::State& state) {
  constexpr std::int64_t kBlock = 64;
  const std::vector<float> from(kRows * kCols, 1.5f);
  Matrix<float> out(kBlock, kCols);
  for (auto _ : state) {
    for (std::int64_t row = 0; row < kRows; row += kBlock) {
      std::memcpy(out.data(), from.data() + row * kCols, kBlock * kCols * sizeof(float));
      benchmark::DoNotOptimize(out.data());
    }
  }
  state.SetBytesProcessed(state.iterations() * 4 * kRows * kCols);
}
BENCHMARK(copy_float32);

}  // namespace
}  // namespace attnscope
