// Element types of checkpoint tensors, with the names of safetensors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace attnscope {

/// In the order of kDTypes in dtype.cpp.
enum class DType {
  f64,
  f32,
  f16,
  bf16,
  f8_e4m3,
  f8_e5m2,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  f8_e8m0,  // decoded exactly
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,  // listed, but rejected for analysis
  f6_e2m3,
  f6_e3m2,
  f4,
  c64,
  packed,  // listed, but not decoded; TensorView has the details of `packed`
};

enum class DTypeClass { real, integer, undecoded };

struct DTypeInfo {
  DType dtype;
  std::string_view name;  // as stored in the file
  int bits;               // per element
  DTypeClass kind;
};

const DTypeInfo& dtype_info(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);
/// All dtypes of safetensors files: all but `packed`.
std::span<const DTypeInfo> all_dtypes();

inline std::string_view dtype_name(DType dtype) { return dtype_info(dtype).name; }

}  // namespace attnscope
