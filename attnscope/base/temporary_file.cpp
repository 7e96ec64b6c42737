#include "attnscope/base/temporary_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "attnscope/base/error.h"

namespace attnscope {

std::string temporary_folder() {
  const char* named = std::getenv("TMPDIR");
  return named == nullptr || *named == '\0' ? "/tmp" : named;
}

int open_unnamed_file(const std::filesystem::path& folder) {
#ifdef O_TMPFILE
  return open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
#else
  (void)folder;
  errno = EOPNOTSUPP;
  return -1;
#endif
}

int open_temporary_file() {
  const std::string folder = temporary_folder();
  const int unnamed = open_unnamed_file(folder);
  if (unnamed >= 0) return unnamed;
  std::string name = folder + "/attnscope-XXXXXX";
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file >= 0) unlink(name.c_str());
  return file;
}

namespace {

[[noreturn]] void fail(const char* problem) {
  throw Error(ErrorKind::io, {.file = temporary_folder(),
                              .problem = std::string(problem) + ": " + std::strerror(errno),
                              .hint = "set TMPDIR to use another folder for temporary files"});
}

std::FILE* unnamed_file() {
  const int descriptor = open_temporary_file();
  return descriptor < 0 ? nullptr : fdopen(descriptor, "w+b");
}

}  // namespace

std::uint64_t Spool::append(std::string_view bytes) {
  const std::uint64_t begin = size_;
  if (!file_ && memory_.size() + bytes.size() > memory_bytes_) {
    file_.reset(unnamed_file());
    if (!file_) fail("cannot create a temporary file");
    if (std::fwrite(memory_.data(), 1, memory_.size(), file_.get()) != memory_.size()) {
      fail("cannot write a temporary file");
    }
    std::string().swap(memory_);
  }
  if (!file_) {
    memory_ += bytes;
  } else if (fseeko(file_.get(), 0, SEEK_END) != 0 ||
             std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) {
    fail("cannot write a temporary file");
  }
  size_ += bytes.size();
  return begin;
}

std::string Spool::read(std::uint64_t offset, std::size_t length) {
  if (!file_) return memory_.substr(offset, length);
  std::string bytes(length, '\0');
  if (fseeko(file_.get(), static_cast<off_t>(offset), SEEK_SET) != 0 ||
      std::fread(bytes.data(), 1, length, file_.get()) != length) {
    fail("cannot read a temporary file");
  }
  return bytes;
}

}  // namespace attnscope
