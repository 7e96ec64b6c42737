#include "attnscope/checkpoint/gguf/block_source.h"

#include <algorithm>
#include <array>
#include <bit>

#include "attnscope/tensor/low_precision.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {
namespace {

/// The largest block.
constexpr std::size_t kBlockValues = 256;

// Elements of big-endian files are decoded as blocks of one value.

void decode_big_f32(const std::uint8_t* at, float* out) {
  *out = load_number<float>(at, /*big_endian=*/true);
}

void decode_big_f16(const std::uint8_t* at, float* out) {
  *out = f16_to_float(load_number<std::uint16_t>(at, /*big_endian=*/true));
}

void decode_big_bf16(const std::uint8_t* at, float* out) {
  *out = std::bit_cast<float>(std::uint32_t{load_number<std::uint16_t>(at, /*big_endian=*/true)}
                              << 16);
}

/// The type in a big-endian file. Only plain numbers of up to 32 bits are decoded.
GgmlType big_endian_type(GgmlType type) {
  type.decode = nullptr;
  if (type.plain == DType::f32) type.decode = decode_big_f32;
  if (type.plain == DType::f16) type.decode = decode_big_f16;
  if (type.plain == DType::bf16) type.decode = decode_big_bf16;
  return type;
}

}  // namespace

BlockSource::BlockSource(const GgmlType& type, std::span<const std::byte> bytes, std::int64_t cols)
    : type_(type), bytes_(bytes), row_bytes_(cols / type.block_values * type.block_bytes) {}

void BlockSource::decode(std::int64_t first_row, std::int64_t first_col,
                         MatrixView<float> out) const {
  const std::int64_t size = type_.block_values;
  std::array<float, kBlockValues> block;
  for (std::int64_t row = 0; row < out.rows; ++row) {
    const auto* blocks =
        reinterpret_cast<const std::uint8_t*>(bytes_.data()) + (first_row + row) * row_bytes_;
    for (std::int64_t done = 0; done < out.cols;) {
      const std::int64_t col = first_col + done, within = col % size;
      const std::uint8_t* at = blocks + col / size * type_.block_bytes;
      const std::int64_t taken = std::min(size - within, out.cols - done);
      if (taken == size) {
        type_.decode(at, &out(row, done));
      } else {
        type_.decode(at, block.data());
        std::copy_n(block.data() + within, taken, &out(row, done));
      }
      done += taken;
    }
  }
}

std::vector<std::span<const std::byte>> BlockSource::reads(std::int64_t first_row,
                                                           std::int64_t rows,
                                                           std::int64_t first_col,
                                                           std::int64_t cols) const {
  if (rows == 0 || bytes_.empty()) return {};
  const std::int64_t size = type_.block_values;
  const std::int64_t begin = first_col / size * type_.block_bytes;
  const std::int64_t end = (first_col + cols + size - 1) / size * type_.block_bytes;
  return row_stretches(bytes_, row_bytes_, first_row, rows, begin, end);
}

TensorView view_of(const GgufTensor& tensor, bool big_endian) {
  const GgmlType type = big_endian ? big_endian_type(*tensor.type) : *tensor.type;
  if (type.plain && (!big_endian || type.block_bytes == 1)) {
    return {.dtype = *type.plain, .shape = tensor.shape, .bytes = tensor.bytes};
  }
  const std::string name = std::string(type.name);
  if (type.decode == nullptr) {
    return {.dtype = DType::packed,
            .shape = tensor.shape,
            .bytes = tensor.bytes,
            .stored_as = big_endian ? "big-endian " + name : name};
  }
  // The other sizes of an empty tensor are unchecked.
  const std::int64_t cols = tensor.bytes.empty()   ? 0
                            : tensor.shape.empty() ? 1
                                                   : tensor.shape.back();
  return {.dtype = type.plain.value_or(DType::f32),
          .shape = tensor.shape,
          .source = std::make_shared<BlockSource>(type, tensor.bytes, cols),
          .stored_as = name};
}

}  // namespace attnscope
