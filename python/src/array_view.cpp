#include "python/src/array_view.h"

#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "attnscope/base/checked_arithmetic.h"

namespace attnscope::python {
namespace {

namespace nb = nanobind;

std::optional<DType> dtype_of(const nb::dlpack::dtype& dtype) {
  if (dtype.lanes != 1) return std::nullopt;
  const auto one_of = [&](DType bits64, DType bits32, DType bits16,
                          std::optional<DType> bits8) -> std::optional<DType> {
    switch (dtype.bits) {
      case 64: return bits64;
      case 32: return bits32;
      case 16: return bits16;
      case 8: return bits8;
      default: return std::nullopt;
    }
  };
  using Code = nb::dlpack::dtype_code;
  switch (static_cast<Code>(dtype.code)) {
    case Code::Float: return one_of(DType::f64, DType::f32, DType::f16, std::nullopt);
    case Code::Bfloat: return dtype.bits == 16 ? std::optional(DType::bf16) : std::nullopt;
    case Code::Float8_E4M3FN: return DType::f8_e4m3;
    case Code::Float8_E4M3FNUZ: return DType::f8_e4m3fnuz;
    case Code::Float8_E5M2: return DType::f8_e5m2;
    case Code::Float8_E5M2FNUZ: return DType::f8_e5m2fnuz;
    case Code::Float8_E8M0FNU: return DType::f8_e8m0;
    case Code::Int: return one_of(DType::i64, DType::i32, DType::i16, DType::i8);
    case Code::UInt: return one_of(DType::u64, DType::u32, DType::u16, DType::u8);
    case Code::Bool: return dtype.bits == 8 ? std::optional(DType::boolean) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

AnyArray array_of(nb::handle object) {
  AnyArray array;
  // A failed argument cast would list every type that the function accepts.
  if (object.is_none() || !nb::try_cast(object, array)) {
    const std::string name = nb::cast<std::string>(nb::type_name(object.type()));
    throw nb::type_error(("expected an array of numbers in CPU memory, not " + name).c_str());
  }
  return array;
}

TensorView view_of(const AnyArray& array) {
  const auto dtype = dtype_of(array.dtype());
  if (!dtype) throw nb::value_error("expected real numbers of 8 to 64 bits, or integers");
  TensorView view{.dtype = *dtype};
  std::optional<std::uint64_t> bits = dtype_info(*dtype).bits;  // total, of all elements
  std::int64_t last = 0;                                        // index of the last element
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
    if (array.stride(axis) < 0) throw nb::value_error("negative strides: copy the array first");
    view.shape.push_back(static_cast<std::int64_t>(array.shape(axis)));
    view.strides.push_back(array.stride(axis));
    last += (view.shape.back() - 1) * view.strides.back();
    bits = bits ? checked_mul(*bits, array.shape(axis)) : bits;
  }
  // Broadcast axes (stride 0) need no memory, so the memory size does not limit the shape.
  if (!bits || *bits > std::numeric_limits<std::int64_t>::max()) {
    throw nb::value_error("the array has too many elements");
  }
  if (array.size() == 0) {
    view.strides.clear();
    return view;
  }
  bool has_gaps = false;
  std::int64_t contiguous = 1;  // stride of an axis if the elements are in order
  for (std::size_t axis = array.ndim(); axis-- > 0;) {
    if (view.shape[axis] > 1 && view.strides[axis] != contiguous) has_gaps = true;
    contiguous *= view.shape[axis];
  }
  if (!has_gaps) view.strides.clear();  // as in files
  view.bytes = {static_cast<const std::byte*>(array.data()),
                static_cast<std::size_t>(last + 1) * array.itemsize()};
  return view;
}

std::shared_ptr<const void> owned_by_library(std::vector<AnyArray> arrays) {
  return {new std::vector<AnyArray>(std::move(arrays)), [](const std::vector<AnyArray>* owned) {
            const nb::gil_scoped_acquire lock;
            delete owned;
          }};
}

}  // namespace attnscope::python
