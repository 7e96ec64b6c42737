#include "attnscope/tensor/decode.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>

#include "attnscope/tensor/low_precision.h"

namespace attnscope {
namespace {

/// Unaligned little-endian load.
template <class Bits>
Bits load(const std::byte* at) {
  Bits bits;
  std::memcpy(&bits, at, sizeof bits);
  if constexpr (std::endian::native == std::endian::big) {
    std::array<std::byte, sizeof bits> bytes;
    std::memcpy(bytes.data(), at, sizeof bits);
    for (std::size_t index = 0; index < sizeof bits / 2; ++index) {
      std::swap(bytes[index], bytes[sizeof bits - 1 - index]);
    }
    std::memcpy(&bits, bytes.data(), sizeof bits);
  }
  return bits;
}

float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

template <class T, class Bits, class Convert>
void decode_as(const TensorView& tensor, std::int64_t first, std::int64_t stride,
               std::int64_t count, T* out, Convert convert) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(Bits));
  const std::byte* start = tensor.bytes.data() + first * kSize;
  if (stride == 1) {  // a separate case, so that the compiler sees contiguous loads
    for (std::int64_t index = 0; index < count; ++index) {
      out[index] = static_cast<T>(convert(load<Bits>(start + index * kSize)));
    }
    return;
  }
  for (std::int64_t index = 0; index < count; ++index) {
    out[index] = static_cast<T>(convert(load<Bits>(start + index * stride * kSize)));
  }
}

/// Decodes a source in runs of one row if the elements are contiguous.
template <class T>
void decode_of_source(const TensorView& tensor, std::int64_t first, std::int64_t stride,
                      std::int64_t count, T* out) {
  constexpr std::int64_t kLine = 512;
  std::array<T, kLine> line;
  const std::int64_t cols = tensor.cols();
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t at = first + done * stride;
    const std::int64_t left_in_row = cols - at % cols;
    const std::int64_t taken =
        stride == 1 ? std::min({left_in_row, count - done, kLine}) : std::int64_t{1};
    tensor.source->decode_as(at / cols, at % cols,
                    MatrixView<T>{line.data(), 1, taken, taken, 1});
    std::copy_n(line.begin(), taken, out + done);
    done += taken;
  }
}

}  // namespace

template <class T>
void decode_elements(const TensorView& tensor, std::int64_t first, std::int64_t stride,
                     std::int64_t count, T* out) {
  if (tensor.source != nullptr) return decode_of_source(tensor, first, stride, count, out);
  switch (tensor.dtype) {
    case DType::f64:
      return decode_as<T, std::uint64_t>(tensor, first, stride, count, out, [](std::uint64_t bits) {
        return std::bit_cast<double>(bits);
      });
    case DType::f32:
      return decode_as<T, std::uint32_t>(tensor, first, stride, count, out, [](std::uint32_t bits) {
        return std::bit_cast<float>(bits);
      });
    case DType::f16:
      if (stride == 1) return decode_f16(tensor.bytes.data() + 2 * first, count, out);
      return decode_as<T, std::uint16_t>(tensor, first, stride, count, out, f16_to_float);
    case DType::bf16:
      return decode_as<T, std::uint16_t>(tensor, first, stride, count, out, bf16_to_float);
    case DType::f8_e4m3:
    case DType::f8_e5m2:
    case DType::f8_e4m3fnuz:
    case DType::f8_e5m2fnuz:
    case DType::f8_e8m0:
      return decode_as<T, std::uint8_t>(
          tensor, first, stride, count, out,
          [&table = float8_values(tensor.dtype)](std::uint8_t bits) { return table[bits]; });
    case DType::i64:
    case DType::i32:
    case DType::i16:
    case DType::i8:
    case DType::u64:
    case DType::u32:
    case DType::u16:
    case DType::u8:
    case DType::boolean:
    case DType::f6_e2m3:
    case DType::f6_e3m2:
    case DType::f4:
    case DType::c64:
    case DType::packed: break;
  }
  throw std::invalid_argument("elements of " + std::string(dtype_name(tensor.dtype)) +
                              " cannot be decoded");
}

template void decode_elements(const TensorView&, std::int64_t, std::int64_t, std::int64_t, float*);
template void decode_elements(const TensorView&, std::int64_t, std::int64_t, std::int64_t, double*);

}  // namespace attnscope
