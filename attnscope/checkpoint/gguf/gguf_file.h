// Parses a GGUF file as it is stored: values by key, and tensors. gguf_reader.h is the entry.
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

/// Ids of the types of values in the file.
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

/// Items in place in the file. Each is checked to lie in the file completely.
struct GgufArray {
  GgufType item = GgufType::u8;
  std::uint64_t count = 0;
  std::span<const std::byte> bytes;
};

/// Whole numbers, real numbers (float32 keeps its type, because its shortest decimal is the
/// intended number), true or false, text (a view of the file), array.
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
  std::vector<GgufTensor> tensors;  // in the order of their bytes

  /// Nothing if the key is absent. Throws Error(format) that names the key for a value of another
  /// type or out of range.
  std::optional<std::int64_t> whole(std::string_view key) const;  // not negative
  std::optional<double> number(std::string_view key) const;       // finite
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string_view> text(std::string_view key) const;
  std::optional<std::vector<std::string_view>> texts(std::string_view key) const;
  std::optional<std::vector<std::int64_t>> wholes(std::string_view key) const;
  std::optional<std::vector<float>> numbers(std::string_view key) const;
  /// One for each item of a list; nothing also for a value that is no list.
  std::optional<std::vector<bool>> flags(std::string_view key) const;
  bool has(std::string_view key) const { return values.count(key) > 0; }

  [[noreturn]] void refuse(std::string problem) const;
};

/// Checks everything that is not tensor data: sizes before use, names, types, and that tensors lie
/// in the file completely, aligned and without overlap. Calls `need` for stretches of the file
/// before reading them; empty: all bytes are there. Texts and tensors are views of `bytes`. Throws
/// Error(format) with the file's `name` and the fault, Error(unsupported) for a version of the
/// format that this does not read.
GgufFile parse_gguf(std::span<const std::byte> bytes, std::string_view name,
                    const NeedBytes& need = {});

}  // namespace attnscope
