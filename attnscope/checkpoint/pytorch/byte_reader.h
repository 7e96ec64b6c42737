// Reading the structure of a binary file piece by piece, never past its end.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace attnscope {

/// Where an error is found: a file, and what of it ("data.pkl"; empty: the file itself).
struct FilePlace {
  std::string file;
  std::string place = {};
};

/// Throws Error(format).
[[noreturn]] void refuse(const FilePlace& where, std::string problem, std::string hint = "");

/// Blocks until a stretch of a file is there to be read; does nothing for files on disk.
using NeedBytes = std::function<void(std::span<const std::byte>)>;

/// A place in bytes that moves forward as they are read.
class ByteReader {
 public:
  /// `part`: what an error says ends too early ("the central directory"). Bytes are asked for in
  /// steps of `step_bytes` as reading gets to them, so that a part whose end is not known before it
  /// is read is not fetched whole.
  ByteReader(std::span<const std::byte> bytes, FilePlace where, std::string_view part,
             NeedBytes need = {}, std::size_t step_bytes = 64 * 1024);

  std::size_t position() const { return position_; }
  std::size_t left() const { return bytes_.size() - position_; }
  const FilePlace& where() const { return where_; }

  /// The next `count` bytes. Throws Error(format) where there are fewer.
  std::span<const std::byte> take(std::uint64_t count);

  /// The next `count` bytes, which must be in the file and are not asked for.
  std::span<const std::byte> pass_over(std::uint64_t count);

  /// The next `count` bytes as text, whatever they are.
  std::string_view take_text(std::uint64_t count);

  /// Up to `end`, which is passed over and not part of the text.
  std::string_view take_until(char end);

  /// A whole number as it is stored, little-endian.
  template <std::integral T>
  T take_number() {
    std::make_unsigned_t<T> value = 0;
    const auto stored = take(sizeof(T));
    for (std::size_t index = sizeof(T); index-- > 0;) {
      if constexpr (sizeof(T) > 1) value = static_cast<decltype(value)>(value << 8);
      value = static_cast<decltype(value)>(value | std::to_integer<std::uint8_t>(stored[index]));
    }
    return static_cast<T>(value);
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  std::size_t present_ = 0;  // bytes that were asked for
  FilePlace where_;
  std::string part_;
  NeedBytes need_;
  std::size_t step_bytes_;
};

}  // namespace attnscope
