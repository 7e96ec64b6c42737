#include "attnscope/engine/system_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

#include <unistd.h>
#include <cstddef>  // says whether the C library is GNU's

namespace attnscope {
namespace {

namespace fs = std::filesystem;

/// Returns the number in a file. Empty if the file is missing or contains no number ("max").
std::optional<std::uint64_t> read_number(const fs::path& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

/// Returns the number after a key at the start of a line: "MemAvailable:    123 kB", "inactive_file
/// 123".
std::optional<std::uint64_t> read_field(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t number = 0;
    if (words >> name >> number && name == key) return number;
  }
  return std::nullopt;
}

/// File names of the same three values in the two versions of control groups.
struct GroupFiles {
  const char* folder;
  const char* limit;
  const char* used;
  const char* inactive;  // cached file pages, which can be reclaimed
};
constexpr GroupFiles kVersion1 = {"sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                  "memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles kVersion2 = {"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

/// Returns the memory left in the group and its ancestors. Empty if none has a limit.
std::optional<std::uint64_t> left_in_group(const fs::path& root, const GroupFiles& files,
                                           fs::path group) {
  std::optional<std::uint64_t> least;
  for (;; group = group.parent_path()) {
    const fs::path folder = root / files.folder / group;
    const auto limit = read_number(folder / files.limit);
    const auto used = read_number(folder / files.used);
    if (limit && used) {
      const std::uint64_t cached = read_field(folder / "memory.stat", files.inactive).value_or(0);
      const std::uint64_t held = *used - std::min(*used, cached);
      least = std::min(least.value_or(std::numeric_limits<std::uint64_t>::max()),
                       *limit - std::min(*limit, held));
    }
    if (group.empty()) return least;
  }
}

/// Reads the lines of /proc/self/cgroup: "4:memory:/path", or "0::/path" in version 2.
std::optional<std::uint64_t> left_in_groups(const fs::path& root) {
  std::optional<std::uint64_t> least;
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ",";
    const bool version2 = controllers == ",,";
    if (!version2 && controllers.find(",memory,") == std::string::npos) continue;
    const fs::path group = fs::path(line.substr(second + 1)).relative_path();
    const auto left = left_in_group(root, version2 ? kVersion2 : kVersion1, group);
    if (left) least = std::min(least.value_or(*left), *left);
  }
  return least;
}

std::optional<std::uint64_t> physical_memory() {
#ifdef _SC_PHYS_PAGES
  const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0) {
    return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
  }
#endif
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> available_memory(const fs::path& root) {
  const auto available_kib = read_field(root / "proc/meminfo", "MemAvailable:");
  std::optional<std::uint64_t> free = physical_memory();
  if (available_kib) free = 1024 * *available_kib;
  const auto left = left_in_groups(root);
  if (left) free = std::min(free.value_or(*left), *left);
  return free;
}

}  // namespace attnscope

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace attnscope {

void trim_heap() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace attnscope
