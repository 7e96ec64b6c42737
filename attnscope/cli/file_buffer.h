// A stream buffer that keeps its bytes in memory up to a limit, then in a file.
#pragma once

#include <cstddef>
#include <functional>
#include <streambuf>
#include <string>
#include <vector>

namespace attnscope {

/// Writes all bytes. Returns 0 or errno.
int write_all(int descriptor, const char* bytes, std::size_t count);

class FileBuffer : public std::streambuf {
 public:
  /// `open` is called once, when there are more than `kept_bytes`. It returns a descriptor for
  /// reading and writing, which this closes. `place` names it in errors.
  FileBuffer(std::size_t kept_bytes, std::function<int()> open, std::string place);
  ~FileBuffer() override;

  /// Moves everything that was written into the file. Throws Error(io).
  void move_to_file();

  /// Copies everything to another descriptor. Returns 0, or errno of that descriptor; throws
  /// Error(io) if its own file cannot be read.
  int copy_to(int descriptor);

 protected:
  int_type overflow(int_type next) override;
  int sync() override { return 0; }  // bytes stay until move_to_file() or copy_to()

 private:
  void take_area();

  std::size_t kept_bytes_;
  std::function<int()> open_;
  std::string place_;
  std::vector<char> area_;  // where streams write
  std::string kept_;
  int file_ = -1;
};

}  // namespace attnscope
