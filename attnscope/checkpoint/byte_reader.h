// Reads the structure of a binary file step by step, never past its end.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace attnscope {

/// The location of an error: a file, and a part of it ("data.pkl"; empty: the file itself).
struct FileLocation {
  std::string file;
  std::string place = {};
};

/// Throws Error(format).
[[noreturn]] void refuse(const FileLocation& where, std::string problem, std::string hint = "");

/// Waits until a range of the file is readable. Does nothing for local files.
using NeedBytes = std::function<void(std::span<const std::byte>)>;

/// Loads a number from any byte position, aligned or not.
template <class T>
T load_number(const void* at, bool big_endian = false) {
  std::array<std::byte, sizeof(T)> stored;
  std::memcpy(stored.data(), at, sizeof(T));
  if (big_endian != (std::endian::native == std::endian::big)) {
    std::reverse(stored.begin(), stored.end());
  }
  return std::bit_cast<T>(stored);
}

/// A read position in bytes.
/// If fewer bytes are left than requested, throws Error(format): the part ends early, or "ends
/// within `what`" if the caller names what it reads.
class ByteReader {
 public:
  /// `part`: named in errors about a premature end ("the central directory"). Calls `need` in steps
  /// of `step_bytes` while reading, because the end of a part may be unknown until it is read.
  ByteReader(std::span<const std::byte> bytes, FileLocation where, std::string_view part,
             NeedBytes need = {}, std::size_t step_bytes = 64 * 1024);

  std::size_t position() const { return position_; }
  std::size_t left() const { return bytes_.size() - position_; }
  const FileLocation& where() const { return where_; }

  /// The byte order of the following numbers; little-endian initially.
  bool big_endian() const { return big_endian_; }
  void set_big_endian(bool big_endian) { big_endian_ = big_endian; }

  /// Returns the next `count` bytes.
  std::span<const std::byte> take(std::uint64_t count, std::string_view what = {});

  /// Skips the next `count` bytes, which must exist in the file, without calling `need`.
  std::span<const std::byte> pass_over(std::uint64_t count, std::string_view what = {});

  /// Returns the next `count` bytes as text, unchecked.
  std::string_view take_text(std::uint64_t count, std::string_view what = {});

  /// Returns the text up to `end`, and skips `end`.
  std::string_view take_until(char end);

  template <class T>
  T take_number(std::string_view what = {}) {
    return load_number<T>(take(sizeof(T), what).data(), big_endian_);
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  std::size_t asked_ = 0;  // end of the last range passed to `need`
  bool big_endian_ = false;
  FileLocation where_;
  std::string part_;
  NeedBytes need_;
  std::size_t step_bytes_;
};

}  // namespace attnscope
