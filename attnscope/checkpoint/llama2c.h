// Checkpoints of llama2.c: a header of seven numbers, then Llama's weights in float32, in an order
// that the header decides. Source: karpathy/llama2.c, export.py and run.c.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "attnscope/checkpoint/file_formats.h"

namespace attnscope {

/// Recognises a file by its first bytes: version 1 has a magic number, version 0 only plausible
/// sizes.
bool is_llama2c(std::span<const std::byte> start);

/// Reads versions 0 and 1, in transformers' names and order of rows, with a config.json. Throws
/// Error(format) if the file's length does not fit its header, Error(unsupported) for other
/// versions.
FileContents parse_llama2c(std::span<const std::byte> file, std::string_view name);

/// The same for a mapped file, of which only the header is read.
FileContents read_llama2c(const MappedFile& file, std::string_view name);

}  // namespace attnscope
