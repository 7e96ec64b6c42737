#include "attnscope/cli/file_buffer.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "attnscope/core/error.h"

namespace attnscope {
namespace {

constexpr std::size_t kAreaBytes = 64 << 10;
constexpr std::size_t kCopiedBytes = 1 << 20;  // at once

[[noreturn]] void fail_writing(const std::string& place, const char* problem, int error) {
  throw Error(ErrorKind::io, place, std::string(problem) + ": " + std::strerror(error));
}

}  // namespace

int write_all(int descriptor, const char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t written = write(descriptor, bytes, count);
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
  return 0;
}

FileBuffer::FileBuffer(std::size_t kept_bytes, std::function<int()> open, std::string place)
    : kept_bytes_(kept_bytes), open_(std::move(open)), place_(std::move(place)), area_(kAreaBytes) {
  setp(area_.data(), area_.data() + area_.size());
}

FileBuffer::~FileBuffer() {
  if (file_ >= 0) close(file_);
}

FileBuffer::int_type FileBuffer::overflow(int_type next) {
  take_area();
  if (kept_.size() > kept_bytes_) move_to_file();
  if (next != traits_type::eof()) sputc(traits_type::to_char_type(next));
  return traits_type::not_eof(next);
}

void FileBuffer::take_area() {
  kept_.append(pbase(), static_cast<std::size_t>(pptr() - pbase()));
  setp(area_.data(), area_.data() + area_.size());
}

void FileBuffer::move_to_file() {
  take_area();
  if (file_ < 0) file_ = open_();
  const int error = write_all(file_, kept_.data(), kept_.size());
  if (error != 0) fail_writing(place_, "cannot write", error);
  kept_.clear();
}

int FileBuffer::copy_to(int descriptor) {
  take_area();
  if (file_ < 0) return write_all(descriptor, kept_.data(), kept_.size());
  move_to_file();
  std::vector<char> bytes(kCopiedBytes);
  for (off_t at = 0;;) {
    const ssize_t count = pread(file_, bytes.data(), bytes.size(), at);
    if (count < 0) fail_writing(place_, "cannot read", errno);
    if (count == 0) return 0;
    const int error = write_all(descriptor, bytes.data(), static_cast<std::size_t>(count));
    if (error != 0) return error;
    at += count;
  }
}

}  // namespace attnscope
