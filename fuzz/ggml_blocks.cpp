// Blocks of every quantized type. The first byte selects the type, and the next two the start
// within a row. Decoding a part of a row must give the same values as decoding the whole row.
#include <bit>
#include <cmath>
#include <cstdint>

#include "attnscope/checkpoint/gguf/block_source.h"

using namespace attnscope;

namespace {

bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const auto types = ggml_types();
  const GgmlType& type = types[data[0] % types.size()];
  const auto bytes = std::as_bytes(std::span(data + 3, size - 3));
  const std::int64_t blocks = std::ssize(bytes) / type.block_bytes;
  if (type.decode == nullptr || blocks == 0) return 0;

  const std::int64_t cols = blocks * type.block_values;
  const BlockSource row(type, bytes, cols);
  Matrix<float> whole(1, cols);
  row.decode(0, 0, whole.view());
  const std::int64_t first = (data[1] | data[2] << 8) % cols;
  Matrix<float> part(1, cols - first);
  row.decode(0, first, part.view());
  for (std::int64_t col = 0; col < part.cols(); ++col) {
    if (!same(part(0, col), whole(0, first + col))) __builtin_trap();
  }
  return 0;
}
