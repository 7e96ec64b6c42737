// Texts that come through a pipe, from a terminal or from another device.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace attnscope {

/// Whether what is read there is gone afterwards.
bool is_pipe(const std::filesystem::path& path);

/// All that comes, to its end. Throws Error(io), or Error(format) above `limit_bytes`. Throws
/// before it reads if the path is a device other than a terminal or /dev/null: /dev/zero and
/// /dev/urandom have no end.
std::string read_pipe(const std::filesystem::path& path, std::uint64_t limit_bytes);

}  // namespace attnscope
