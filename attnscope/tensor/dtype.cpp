#include "attnscope/tensor/dtype.h"

#include <array>

namespace attnscope {
namespace {

// Source: huggingface/safetensors, safetensors/src/tensor.rs, Dtype.
constexpr std::array kDTypes = {
    DTypeInfo{DType::f64, "F64", 64, DTypeClass::real},
    DTypeInfo{DType::f32, "F32", 32, DTypeClass::real},
    DTypeInfo{DType::f16, "F16", 16, DTypeClass::real},
    DTypeInfo{DType::bf16, "BF16", 16, DTypeClass::real},
    DTypeInfo{DType::f8_e4m3, "F8_E4M3", 8, DTypeClass::real},
    DTypeInfo{DType::f8_e5m2, "F8_E5M2", 8, DTypeClass::real},
    DTypeInfo{DType::f8_e4m3fnuz, "F8_E4M3FNUZ", 8, DTypeClass::real},
    DTypeInfo{DType::f8_e5m2fnuz, "F8_E5M2FNUZ", 8, DTypeClass::real},
    DTypeInfo{DType::f8_e8m0, "F8_E8M0", 8, DTypeClass::real},
    DTypeInfo{DType::i64, "I64", 64, DTypeClass::integer},
    DTypeInfo{DType::i32, "I32", 32, DTypeClass::integer},
    DTypeInfo{DType::i16, "I16", 16, DTypeClass::integer},
    DTypeInfo{DType::i8, "I8", 8, DTypeClass::integer},
    DTypeInfo{DType::u64, "U64", 64, DTypeClass::integer},
    DTypeInfo{DType::u32, "U32", 32, DTypeClass::integer},
    DTypeInfo{DType::u16, "U16", 16, DTypeClass::integer},
    DTypeInfo{DType::u8, "U8", 8, DTypeClass::integer},
    DTypeInfo{DType::boolean, "BOOL", 8, DTypeClass::integer},
    DTypeInfo{DType::f6_e2m3, "F6_E2M3", 6, DTypeClass::undecoded},
    DTypeInfo{DType::f6_e3m2, "F6_E3M2", 6, DTypeClass::undecoded},
    DTypeInfo{DType::f4, "F4", 4, DTypeClass::undecoded},
    DTypeInfo{DType::c64, "C64", 64, DTypeClass::undecoded},
    DTypeInfo{DType::packed, "PACKED", 8, DTypeClass::undecoded},
};

constexpr bool table_follows_enum() {
  for (std::size_t index = 0; index < kDTypes.size(); ++index) {
    if (kDTypes[index].dtype != static_cast<DType>(index)) return false;
  }
  return true;
}
static_assert(table_follows_enum());

}  // namespace

const DTypeInfo& dtype_info(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.name == name) return info.dtype;
  }
  return std::nullopt;
}

std::span<const DTypeInfo> all_dtypes() {
  return std::span(kDTypes).first(static_cast<std::size_t>(DType::packed));
}

}  // namespace attnscope
