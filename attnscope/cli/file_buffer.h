// A stream's bytes, kept in memory while they are few, and in a file once they are not.
#pragma once

#include <cstddef>
#include <functional>
#include <streambuf>
#include <string>
#include <vector>

namespace attnscope {

/// Writes all of it. Returns 0, or the number of the error.
int write_all(int descriptor, const char* bytes, std::size_t count);

class FileBuffer : public std::streambuf {
 public:
  /// `open` is called once, when there is more than `kept_bytes`: it gives a descriptor that can be
  /// read and written, which is closed here. `place` names it in errors.
  FileBuffer(std::size_t kept_bytes, std::function<int()> open, std::string place);
  ~FileBuffer() override;

  /// Puts all that was written into the file. Throws Error(io).
  void move_to_file();

  /// Writes everything to another file. Returns 0, or the number of the error of that one; throws
  /// Error(io) where its own file cannot be read.
  int copy_to(int descriptor);

 protected:
  int_type overflow(int_type next) override;
  int sync() override { return 0; }  // kept until it is asked for

 private:
  void take_area();

  std::size_t kept_bytes_;
  std::function<int()> open_;
  std::string place_;
  std::vector<char> area_;  // what streams write into
  std::string kept_;
  int file_ = -1;
};

}  // namespace attnscope
