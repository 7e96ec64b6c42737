#include "attnscope/checkpoint/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text_encoding.h"

namespace attnscope {
namespace {

struct Opened {
  int descriptor;
  FileState state;
};

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileState state_of(const struct stat& status) {
#ifdef __APPLE__
  const timespec modified = status.st_mtimespec, changed = status.st_ctimespec;
#else
  const timespec modified = status.st_mtim, changed = status.st_ctim;
#endif
  return {static_cast<std::uint64_t>(status.st_size), nanoseconds(modified), nanoseconds(changed)};
}

[[noreturn]] void refuse_file(const std::filesystem::path& file, std::string problem,
                              std::string hint = "") {
  throw Error(ErrorKind::io,
              {.file = file.string(), .problem = std::move(problem), .hint = std::move(hint)});
}

Opened open_regular_file(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    refuse_file(path, std::string("cannot open: ") + std::strerror(errno));
  }
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    const bool directory = S_ISDIR(status.st_mode);
    close(descriptor);
    refuse_file(path, directory ? "is a directory, expected a file" : "is not a regular file");
  }
  return {descriptor, state_of(status)};
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const Opened opened = open_regular_file(path);
  descriptor_ = opened.descriptor;
  state_ = opened.state;
  if (state_.bytes == 0) return;  // an empty file cannot be mapped, and has no bytes
  void* address = mmap(nullptr, state_.bytes, PROT_READ, MAP_PRIVATE, descriptor_, 0);
  if (address == MAP_FAILED) {
    const std::string reason = std::strerror(errno);
    close(descriptor_);
    refuse_file(path, "cannot map: " + reason);
  }
  bytes_ = {static_cast<const std::byte*>(address), state_.bytes};
  guard_ = GuardedRange(bytes_);
}

MappedFile::MappedFile(RemoteFile file) : path_(file.path), state_{.bytes = file.bytes} {
  if (state_.bytes == 0) return;
  // Memory is allocated page by page as bytes arrive.
  void* address = mmap(nullptr, state_.bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) {
    refuse_file(path_, std::string("cannot reserve memory for it: ") + std::strerror(errno));
  }
  const std::span memory(static_cast<std::byte*>(address), state_.bytes);
  bytes_ = memory;
  remote_ = std::make_unique<RemoteBytes>(memory, std::move(file));
}

MappedFile MappedFile::in_memory(std::string name, std::uint64_t bytes) {
  return {std::filesystem::path(std::move(name)), FileState{.bytes = bytes}};
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(std::exchange(other.bytes_, {})),
      state_(other.state_),
      guard_(std::move(other.guard_)),
      remote_(std::move(other.remote_)) {}

MappedFile::~MappedFile() {
  guard_ = GuardedRange();  // before another mapping can take the addresses
  remote_.reset();          // a prefetch may still be writing
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<std::size_t> MappedFile::place_of(std::span<const std::byte> part) const {
  const auto at = reinterpret_cast<std::uintptr_t>(part.data());
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes_.data());
  if (part.empty() || at < begin || at >= begin + bytes_.size()) return std::nullopt;
  return at - begin;
}

std::vector<MappedFile::Stretch> MappedFile::stretches_of(
    std::span<const std::span<const std::byte>> parts) const {
  // Measured for GPTQ tensors 416 KiB apart: joining the requests takes 2.3 s instead of 2.7 s (20
  // ms per request, 100 MB/s). It takes 2.9 s instead of 8.4 s (100 ms, 100 MB/s), and 12.6 s
  // instead of 7.4 s (25 ms, 10 MB/s). At larger distances, joining helps only with 100 ms per
  // request.
  constexpr std::size_t kWorthARequest = std::size_t{512} << 10;
  std::vector<Stretch> found;
  for (const auto part : parts) {
    if (const auto first = place_of(part)) found.push_back({*first, *first + part.size()});
  }
  std::sort(found.begin(), found.end(),
            [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  std::vector<Stretch> joined;
  for (const Stretch& next : found) {
    if (!joined.empty() && next.begin <= joined.back().end + kWorthARequest) {
      joined.back().end = std::max(joined.back().end, next.end);
    } else {
      joined.push_back(next);
    }
  }
  return joined;
}

void MappedFile::need(std::span<const std::span<const std::byte>> parts) const {
  if (remote_ == nullptr) return;
  for (const auto& [begin, end] : stretches_of(parts)) remote_->need(begin, end);
}

void MappedFile::prefetch(std::span<const std::span<const std::byte>> parts) const {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const auto& [first, end] : stretches_of(parts)) {
    if (remote_ != nullptr) {
      remote_->prefetch(first, end);
      continue;
    }
    // The mapping begins on a page boundary, so a page of the file is a page of memory.
    const std::size_t begin = first / page * page;
    void* address = const_cast<std::byte*>(bytes_.data()) + begin;
    // This is only a hint: errors do not matter, because the bytes are read where they are used.
    (void)madvise(address, end - begin, MADV_WILLNEED);
  }
}

void MappedFile::release(std::span<const std::byte> part) const {
  const auto first = place_of(part);
  if (!first) return;
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  // Only whole pages: others contain bytes that may still be in use.
  const std::size_t begin = (*first + page - 1) / page * page;
  const std::size_t end = (*first + part.size()) / page * page;
  if (begin >= end) return;
  if (remote_ != nullptr) remote_->forget(begin, end);
  (void)madvise(const_cast<std::byte*>(bytes_.data()) + begin, end - begin, MADV_DONTNEED);
}

void MappedFile::check_intact() const {
  if (descriptor_ < 0) return;  // a remote file: the source of the bytes has checked them
  struct stat status;
  if (guard_.was_cut() || fstat(descriptor_, &status) != 0 ||
      state_of(status).bytes < state_.bytes) {
    refuse_file(path_, "the file was truncated while it was read",
                "is another program still writing it?");
  }
  if (state_of(status).modified_ns != state_.modified_ns) {
    refuse_file(path_, "the file was modified while it was read",
                "is another program still writing it?");
  }
}

std::string bytes_of(const MappedFile& file, std::uint64_t limit_bytes) {
  if (file.bytes().size() > limit_bytes) {
    throw Error(ErrorKind::format,
                {.file = file.path().string(),
                 .problem = "is larger than " + std::to_string(limit_bytes) + " bytes"});
  }
  file.need(file.bytes());
  std::string bytes(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  file.check_intact();
  return bytes;
}

std::string text_of(const MappedFile& file, std::uint64_t limit_bytes) {
  return without_byte_order_mark(bytes_of(file, limit_bytes), {.file = file.path().string()});
}

std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit_bytes) {
  return text_of(MappedFile(path), limit_bytes);
}

}  // namespace attnscope
