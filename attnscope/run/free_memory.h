// How much memory a run may count on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace attnscope {

/// What can be had without swapping, in bytes: what the system says is available, or less where a
/// control group limits the process. Where a system does not say (macOS), all of its memory;
/// nothing where even that is unknown. `root` is the folder in which /proc and /sys lie.
std::optional<std::uint64_t> free_memory(const std::filesystem::path& root = "/");

}  // namespace attnscope
