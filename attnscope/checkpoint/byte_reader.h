// Reading the structure of a binary file piece by piece, never past its end.
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

/// Where an error is found: a file, and what of it ("data.pkl"; empty: the file itself).
struct FilePlace {
  std::string file;
  std::string place = {};
};

/// Throws Error(format).
[[noreturn]] void refuse(const FilePlace& where, std::string problem, std::string hint = "");

/// Blocks until a stretch of a file is there to be read; does nothing for files on disk.
using NeedBytes = std::function<void(std::span<const std::byte>)>;

/// A number as it is stored, which may begin at any byte.
template <class T>
T load_number(const void* at, bool big_endian = false) {
  std::array<std::byte, sizeof(T)> stored;
  std::memcpy(stored.data(), at, sizeof(T));
  if (big_endian != (std::endian::native == std::endian::big)) {
    std::reverse(stored.begin(), stored.end());
  }
  return std::bit_cast<T>(stored);
}

/// A place in bytes that moves forward as they are read.
///
/// Where fewer bytes are left than are asked for, Error(format) says that the part ends early, or
/// within `what` where the caller gives a name to what is being read.
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

  /// Of the numbers from here on; little-endian until it is set.
  bool big_endian() const { return big_endian_; }
  void set_big_endian(bool big_endian) { big_endian_ = big_endian; }

  /// The next `count` bytes.
  std::span<const std::byte> take(std::uint64_t count, std::string_view what = {});

  /// The next `count` bytes, which must be in the file and are not asked for.
  std::span<const std::byte> pass_over(std::uint64_t count, std::string_view what = {});

  /// The next `count` bytes as text, whatever they are.
  std::string_view take_text(std::uint64_t count, std::string_view what = {});

  /// Up to `end`, which is passed over and not part of the text.
  std::string_view take_until(char end);

  template <class T>
  T take_number(std::string_view what = {}) {
    return load_number<T>(take(sizeof(T), what).data(), big_endian_);
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  std::size_t asked_ = 0;  // where the last stretch ends that was asked for
  bool big_endian_ = false;
  FilePlace where_;
  std::string part_;
  NeedBytes need_;
  std::size_t step_bytes_;
};

}  // namespace attnscope
