// Parses a GGUF file as stored: values by key, and tensors. The entry point is gguf_reader.h.
// Source: ggml-org/ggml, docs/gguf.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attnscope/checkpoint/byte_reader.h"
#include "attnscope/checkpoint/gguf/block_formats.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// Ids of value types in the file.
enum class GgufType : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  text,
  array,
  u64,
  i64,
  f64
};

/// Items that remain in the file. Each is checked to lie completely in the file.
struct GgufArray {
  GgufType item = GgufType::u8;
  std::uint64_t count = 0;
  std::span<const std::byte> bytes;
};

/// Integers, real numbers (float32 is kept, because its shortest decimal is the intended number),
/// booleans, text (a view of the file), or an array.
using GgufValue =
    std::variant<std::int64_t, std::uint64_t, float, double, bool, std::string_view, GgufArray>;

struct GgufTensor {
  std::string name;
  Shape shape;  // row-major, last axis contiguous: the reverse of the file's order
  const GgmlType* type = nullptr;
  std::span<const std::byte> bytes;
};

struct GgufFile {
  std::string name;  // for messages
  bool big_endian = false;
  std::map<std::string, GgufValue, std::less<>> values;
  std::vector<GgufTensor> tensors;  // ordered by the position of their bytes

  /// Returns nothing if the key is absent. Throws Error(format) that names the key for a value of
  /// another type or out of range.
  std::optional<std::int64_t> whole(std::string_view key) const;  // not negative
  std::optional<double> number(std::string_view key) const;       // finite
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string_view> text(std::string_view key) const;
  std::optional<std::vector<std::string_view>> texts(std::string_view key) const;
  std::optional<std::vector<std::int64_t>> wholes(std::string_view key) const;
  std::optional<std::vector<float>> numbers(std::string_view key) const;
  /// Returns one value per item of a list. Also returns nothing for a value that is not a list.
  std::optional<std::vector<bool>> flags(std::string_view key) const;
  bool has(std::string_view key) const { return values.count(key) > 0; }

  [[noreturn]] void refuse(std::string problem) const;
};

/// Checks everything except tensor data: sizes before use, names, types, and that tensors lie
/// completely in the file, aligned and without overlap. Calls `need` for ranges of the file before
/// reading them; empty: all bytes are available. Texts and tensors are views of `bytes`. Throws
/// Error(format) that names the file as `name`, and Error(unsupported) for unsupported versions of
/// the format.
GgufFile parse_gguf(std::span<const std::byte> bytes, std::string_view name,
                    const NeedBytes& need = {});

}  // namespace attnscope
