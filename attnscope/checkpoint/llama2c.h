// Checkpoints of llama2.c: a header of seven numbers, then Llama's weights in float32, in an order
// that the header decides. Source: karpathy/llama2.c, export.py and run.c.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "attnscope/checkpoint/file_format.h"

namespace attnscope {

/// By the first bytes: version 1 has a name of its own, version 0 only numbers that make sense.
bool is_llama2c(std::span<const std::byte> start);

/// In transformers' names and order of rows, with a config.json; versions 0 and 1. Throws
/// Error(format) where the file is not as long as its numbers demand, Error(unsupported) for
/// others.
FileContents parse_llama2c(std::span<const std::byte> file, std::string_view name);

/// The same, of which only the header needs to be there.
FileContents read_llama2c(const MappedFile& file, std::string_view name);

}  // namespace attnscope
