// The safetensors format: 8 bytes of header length, a JSON header, the bytes of the tensors.
// Source: huggingface/safetensors, README.md and safetensors/src/tensor.rs.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "attnscope/checkpoint/file_formats.h"

namespace attnscope {

/// Checks the whole header first: sizes, exact cover of the file without gaps or overlaps, dtypes,
/// duplicate names. Views point into `file`. Throws Error(format) that names the file as `name` and
/// describes the problem.
FileContents parse_safetensors(std::span<const std::byte> file, std::string_view name);

/// The same for a mapped file, of which only the header is read.
FileContents read_safetensors(const MappedFile& file, std::string_view name);

}  // namespace attnscope
