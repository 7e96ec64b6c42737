// Bytes that are kept until they are read: in memory up to a limit, and beyond it in an unnamed
// temporary file, which is gone when the program ends, however it ends.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace attnscope {

class Spool {
 public:
  /// `memory_bytes`: the most that stays in memory.
  explicit Spool(std::size_t memory_bytes = std::size_t{4} << 20) : memory_bytes_(memory_bytes) {}

  /// Adds bytes at the end; returns where they begin. Throws Error(io) where there is no room.
  std::uint64_t append(std::string_view bytes);

  /// `length` bytes from `offset` on; all of them were appended before. Throws Error(io).
  std::string read(std::uint64_t offset, std::size_t length);

  std::uint64_t size() const { return size_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::size_t memory_bytes_;
  std::uint64_t size_ = 0;
  std::string memory_;
  std::unique_ptr<std::FILE, Close> file_;  // null while all is in memory
};

}  // namespace attnscope
