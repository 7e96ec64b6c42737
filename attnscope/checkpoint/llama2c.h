// Checkpoints of llama2.c: a header of seven numbers, followed by Llama's weights in float32. The
// version in the header determines their order. Source: karpathy/llama2.c, export.py and run.c.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "attnscope/checkpoint/file_formats.h"

namespace attnscope {

/// Recognizes a file by its first bytes: version 1 has a magic number, version 0 only plausible
/// sizes.
bool is_llama2c(std::span<const std::byte> start);

/// Reads versions 0 and 1. Returns tensors with transformers' names and row order, and a
/// config.json. Throws Error(format) if the file's length does not match its header,
/// Error(unsupported) for other versions.
FileContents parse_llama2c(std::span<const std::byte> file, std::string_view name);

/// The same for a mapped file, of which only the header is read.
FileContents read_llama2c(const MappedFile& file, std::string_view name);

}  // namespace attnscope
