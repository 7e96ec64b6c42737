#include "attnscope/checkpoint/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

#include "attnscope/core/error.h"

namespace attnscope {
namespace {

// A page of a mapping that lies past the end of its file raises SIGBUS when it is touched. The
// handler below puts a page of zeros there instead and lets the read go on; check_intact() then
// finds the file shorter. The table is fixed in size and atomic because a signal handler reads it.
struct GuardedRange {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> cut{false};  // stays set though the file may grow again
};
constexpr std::size_t kGuardSlots = 4096;
constexpr std::size_t kNoSlot = kGuardSlots;
std::array<GuardedRange, kGuardSlots> guarded_ranges;
std::mutex guard_mutex;
struct sigaction previous_action;
std::uintptr_t page_bytes = 4096;

void on_bus_error(int, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (GuardedRange& range : guarded_ranges) {
    if (address < range.begin.load() || address >= range.end.load()) continue;
    const int saved_errno = errno;
    void* page = reinterpret_cast<void*>(address & ~(page_bytes - 1));
    const void* mapped =
        mmap(page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    errno = saved_errno;
    if (mapped != page) break;
    range.cut.store(true);
    return;
  }
  // Not ours: whoever was responsible before gets the fault when the instruction runs again.
  sigaction(SIGBUS, &previous_action, nullptr);
}

std::size_t guard(std::span<const std::byte> bytes) {
  const std::scoped_lock lock(guard_mutex);
  static const bool installed = [] {
    page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    struct sigaction action = {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, &previous_action) == 0;
  }();
  if (!installed) return kNoSlot;
  for (std::size_t slot = 0; slot < kGuardSlots; ++slot) {
    if (guarded_ranges[slot].end.load() != 0) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    guarded_ranges[slot].cut.store(false);
    guarded_ranges[slot].begin.store(begin);
    guarded_ranges[slot].end.store(begin + bytes.size());
    return slot;
  }
  return kNoSlot;
}

void unguard(std::size_t slot) {
  if (slot == kNoSlot) return;
  const std::scoped_lock lock(guard_mutex);
  guarded_ranges[slot].end.store(0);
  guarded_ranges[slot].begin.store(0);
}

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

Opened open_regular_file(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    throw Error(ErrorKind::io, path.string(), std::string("cannot open: ") + std::strerror(errno));
  }
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    const bool directory = S_ISDIR(status.st_mode);
    close(descriptor);
    throw Error(ErrorKind::io, path.string(),
                directory ? "is a directory, expected a file" : "is not a regular file");
  }
  return {descriptor, state_of(status)};
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path), guard_slot_(kNoSlot) {
  const Opened opened = open_regular_file(path);
  descriptor_ = opened.descriptor;
  state_ = opened.state;
  if (state_.bytes == 0) return;  // an empty file cannot be mapped, and has no bytes
  void* address = mmap(nullptr, state_.bytes, PROT_READ, MAP_PRIVATE, descriptor_, 0);
  if (address == MAP_FAILED) {
    const std::string reason = std::strerror(errno);
    close(descriptor_);
    throw Error(ErrorKind::io, path.string(), "cannot map: " + reason);
  }
  bytes_ = {static_cast<const std::byte*>(address), state_.bytes};
  guard_slot_ = guard(bytes_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(std::exchange(other.bytes_, {})),
      state_(other.state_),
      guard_slot_(std::exchange(other.guard_slot_, kNoSlot)) {}

MappedFile::~MappedFile() {
  unguard(guard_slot_);
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  if (descriptor_ >= 0) close(descriptor_);
}

void MappedFile::prefetch(std::span<const std::byte> part) const {
  if (part.empty()) return;
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  // The mapping begins on a page, so a page of the file is a page of memory.
  const auto first = static_cast<std::size_t>(part.data() - bytes_.data());
  const std::size_t begin = first / page * page;
  void* address = const_cast<std::byte*>(bytes_.data()) + begin;
  // Advice only: whatever comes of it, the bytes are read where they are used.
  (void)madvise(address, first + part.size() - begin, MADV_WILLNEED);
}

void MappedFile::check_intact() const {
  const bool zeros_were_read = guard_slot_ != kNoSlot && guarded_ranges[guard_slot_].cut.load();
  struct stat status;
  if (zeros_were_read || fstat(descriptor_, &status) != 0 ||
      state_of(status).bytes < state_.bytes) {
    throw Error(ErrorKind::io, path_.string(),
                "the file became shorter while it was read (is it still being written?)");
  }
  if (state_of(status).modified_ns != state_.modified_ns) {
    throw Error(ErrorKind::io, path_.string(),
                "the file was written to while it was read (is it still being written?)");
  }
}

std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit_bytes) {
  const MappedFile file(path);
  if (file.bytes().size() > limit_bytes) {
    throw Error(ErrorKind::format, path.string(),
                "is larger than " + std::to_string(limit_bytes) + " bytes");
  }
  std::string text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  file.check_intact();
  return text;
}

}  // namespace attnscope
