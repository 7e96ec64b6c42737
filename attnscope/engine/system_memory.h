// How much memory a run may count on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace attnscope {

/// Bytes available without swapping: what the system reports, or less if a control group limits the
/// process. On a system that does not report it (macOS), all of its memory; nothing if even that is
/// unknown. `root`: the folder that holds /proc and /sys.
std::optional<std::uint64_t> available_memory(const std::filesystem::path& root = "/");

// What the C library holds back of memory that was freed.

/// Gives it back to the system, where that can be: between parts of a run of which the next needs
/// memory of other sizes.
void trim_heap();

}  // namespace attnscope
