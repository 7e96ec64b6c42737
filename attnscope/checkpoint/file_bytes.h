// Files as they are, byte for byte. Text is read by the functions of mapped_file.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "attnscope/checkpoint/mapped_file.h"

namespace attnscope {

/// All bytes of a file. Throws Error(io), or Error(format) above `limit_bytes`.
std::string bytes_of(const MappedFile& file, std::uint64_t limit_bytes);

}  // namespace attnscope
