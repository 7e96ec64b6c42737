// How much memory a run may count on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace attnscope {

/// Bytes available without swapping: what the system reports, or less if a control group limits the
/// process. On a system that does not report it (macOS), all of its memory; nothing if even that is
/// unknown. `root`: the folder that holds /proc and /sys.
std::optional<std::uint64_t> free_memory(const std::filesystem::path& root = "/");

}  // namespace attnscope
