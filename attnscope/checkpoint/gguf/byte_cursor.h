// Reads the head of a GGUF file: never past its end, and only bytes that were asked for.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "attnscope/core/error.h"

namespace attnscope {

using NeedBytes = std::function<void(std::span<const std::byte>)>;

/// A number of the file's byte order, which may start at any byte.
template <class T>
T load_number(const std::byte* at, bool big_endian) {
  std::array<std::byte, sizeof(T)> raw;
  std::memcpy(raw.data(), at, sizeof(T));
  if (big_endian != (std::endian::native == std::endian::big)) {
    std::reverse(raw.begin(), raw.end());
  }
  return std::bit_cast<T>(raw);
}

class ByteCursor {
 public:
  ByteCursor(std::span<const std::byte> bytes, std::string file, const NeedBytes& need)
      : bytes_(bytes), file_(std::move(file)), need_(need) {}

  std::uint64_t at() const { return at_; }
  bool big_endian = false;

  /// `what` is told where the file ends before it.
  std::span<const std::byte> take(std::uint64_t count, const char* what) {
    if (count > bytes_.size() - at_) {
      refuse(std::string("ends within ") + what + " at byte " + std::to_string(at_),
             "truncated download?");
    }
    ask(at_ + count);
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

  template <class T>
  T number(const char* what) {
    return load_number<T>(take(sizeof(T), what).data(), big_endian);
  }

  std::string_view text(const char* what) {
    const auto length = number<std::uint64_t>(what);
    const auto bytes = take(length, what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  [[noreturn]] void refuse(std::string problem, std::string hint = "") const {
    throw Error(ErrorKind::format,
                {.file = file_, .problem = std::move(problem), .hint = std::move(hint)});
  }

 private:
  /// In large stretches: each may be a request over the network.
  void ask(std::uint64_t end) {
    constexpr std::uint64_t kStretch = 1 << 18;
    if (end <= asked_ || !need_) return;
    const std::uint64_t until = std::min<std::uint64_t>(bytes_.size(), end + kStretch);
    need_(bytes_.subspan(asked_, until - asked_));
    asked_ = until;
  }

  std::span<const std::byte> bytes_;
  std::string file_;
  const NeedBytes& need_;
  std::uint64_t at_ = 0;
  std::uint64_t asked_ = 0;
};

}  // namespace attnscope
