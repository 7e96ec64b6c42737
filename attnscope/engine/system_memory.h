// Amount of memory that a run may use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace attnscope {

/// Returns the bytes available without swapping: what the system reports, or less if a control
/// group limits the process. Systems without such a report (macOS): all of their memory. Empty if
/// even that is unknown. `root`: the folder that contains /proc and /sys.
std::optional<std::uint64_t> available_memory(const std::filesystem::path& root = "/");

// Memory that was freed but is still held by the C library.

/// Returns freed memory to the system, if the C library supports it. Called between phases of a run
/// that allocate blocks of different sizes.
void trim_heap();

}  // namespace attnscope
