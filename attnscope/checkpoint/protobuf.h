// Reads messages of Protocol Buffers field by field, without their schema. Source:
// protobuf.dev/programming-guides/encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/byte_reader.h"

namespace attnscope {

/// One field of a message.
struct ProtobufField {
  std::uint64_t number = 0;
  std::uint64_t value = 0;                // of an integer, or the bits of a float or double
  std::span<const std::byte> bytes = {};  // of a text, a nested message or a packed list
  bool is_bytes = false;

  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::int64_t integer() const { return static_cast<std::int64_t>(value); }
  float real() const;
};

/// Returns the fields of a message one after another. Throws Error(format) for a message that ends
/// early, and for wire types that are not in use.
class ProtobufReader {
 public:
  ProtobufReader(std::span<const std::byte> message, FileLocation where, NeedBytes need = {})
      : in_(message, std::move(where), "a message", std::move(need)) {}

  /// Returns nothing at the end. The bytes of a field are not read.
  std::optional<ProtobufField> next();

 private:
  std::uint64_t varint();

  ByteReader in_;
};

/// Appends the numbers of a field that is one number or a packed list of them.
void append_integers(const ProtobufField& field, const FileLocation& where, std::size_t most,
                     std::vector<std::int64_t>& out);

}  // namespace attnscope
