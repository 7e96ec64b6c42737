#include "attnscope/tensor/encode.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "attnscope/tensor/decode.h"

namespace attnscope {
namespace {

/// Returns the float32 that a later rounding to fewer bits rounds correctly (round to odd): of the
/// two floats around the value, the one whose last bit is 1.
float rounded_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (!std::isfinite(nearest) || static_cast<double>(nearest) == value) return nearest;
  const bool beyond = std::abs(static_cast<double>(nearest)) > std::abs(value);
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (beyond) --bits;  // the adjacent float towards zero
  return std::bit_cast<float>(bits | 1);
}

/// Returns the upper bits of a float32, rounded to nearest, ties to even.
std::uint16_t nearest_bf16_bits(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(rounded_to_odd(value));
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

std::uint16_t nearest_f16_bits(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(rounded_to_odd(value));
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<std::uint16_t>(sign | 0x7E00);
  if (magnitude < 0x38800000) {  // below 2^-14: an integer multiple of 2^-24
    const double steps = std::nearbyint(std::abs(value) * 0x1p24);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(steps));
  }
  const std::uint32_t rounded = magnitude + 0xFFF + (magnitude >> 13 & 1);
  const std::uint32_t half = rounded >= 0x47800000 ? 0x7C00 : (rounded - 0x38000000) >> 13;
  return static_cast<std::uint16_t>(sign | half);
}

template <class T>
std::vector<std::byte> encode_each(std::span<const double> values, T (*convert)(double)) {
  std::vector<std::byte> out(values.size() * sizeof(T));
  for (std::size_t at = 0; at < values.size(); ++at) {
    const T element = convert(values[at]);
    std::memcpy(out.data() + at * sizeof(T), &element, sizeof(T));
  }
  return out;
}

}  // namespace

bool can_encode(DType dtype) {
  return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

bool is_plain(const TensorView& tensor) {
  const bool integer = dtype_info(tensor.dtype).kind == DTypeClass::integer;
  return tensor.storage_name() == dtype_name(tensor.dtype) && (integer || can_encode(tensor.dtype));
}

std::optional<DType> plain_dtype(const TensorView& tensor) {
  if (is_plain(tensor)) return tensor.dtype;
  std::string_view storage = tensor.storage_name();
  if (!storage.ends_with(kAdapted)) return std::nullopt;
  storage.remove_suffix(kAdapted.size());
  const std::optional<DType> dtype = dtype_from_name(storage);
  return dtype && can_encode(*dtype) ? dtype : std::nullopt;
}

std::vector<std::byte> encode(std::span<const double> values, DType dtype) {
  switch (dtype) {
    case DType::f64: return encode_each<double>(values, [](double value) { return value; });
    case DType::f32:
      return encode_each<float>(values, [](double value) { return static_cast<float>(value); });
    case DType::f16: return encode_each<std::uint16_t>(values, nearest_f16_bits);
    case DType::bf16: return encode_each<std::uint16_t>(values, nearest_bf16_bits);
    default:
      throw std::invalid_argument("cannot encode numbers as " + std::string(dtype_name(dtype)));
  }
}

std::vector<std::byte> encoded_elements(const TensorView& tensor, DType dtype) {
  if (tensor.source == nullptr && tensor.dtype == dtype && tensor.strides.empty()) {
    return {tensor.bytes.begin(), tensor.bytes.end()};
  }
  std::vector<double> values(static_cast<std::size_t>(tensor.element_count()));
  if (tensor.strides.empty()) {
    decode_elements(tensor, 0, 1, std::ssize(values), values.data());
    return encode(values, dtype);
  }
  // The last axis has a single step; the other axes are iterated.
  const std::int64_t cols = tensor.cols();
  const std::size_t axes = tensor.shape.size();
  for (std::int64_t row = 0; row < tensor.rows(); ++row) {
    std::int64_t first = 0, rest = row;
    for (std::size_t axis = axes - 1; axis-- > 0;) {
      first += rest % tensor.shape[axis] * tensor.stride(axis);
      rest /= tensor.shape[axis];
    }
    decode_elements(tensor, first, tensor.stride(axes - 1), cols, values.data() + row * cols);
  }
  return encode(values, dtype);
}

bool same_elements(const TensorView& a, const TensorView& b) {
  if (a.shape != b.shape) return false;
  const bool plain = a.source == nullptr && b.source == nullptr && a.dtype == b.dtype;
  const auto kind = dtype_info(a.dtype).kind;
  if (plain && a.strides.empty() && b.strides.empty()) {
    return std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end());
  }
  if (kind != DTypeClass::real || dtype_info(b.dtype).kind != DTypeClass::real) return false;
  return encoded_elements(a, DType::f64) == encoded_elements(b, DType::f64);
}

}  // namespace attnscope
