// Archives of NumPy arrays, as MLX writes them: a zip archive of .npy files. Source:
// numpy/numpy, numpy/lib/format.py.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "attnscope/checkpoint/byte_reader.h"
#include "attnscope/checkpoint/file_formats.h"

namespace attnscope {

/// Returns the arrays by their names in the archive, without ".npy". Arrays whose values cannot be
/// read are skipped, with a note. Throws Error(format).
FileContents parse_npz(std::span<const std::byte> archive, std::string_view name,
                       const NeedBytes& need = {});

/// The same for a mapped file.
FileContents read_npz(const MappedFile& file, std::string_view name);

}  // namespace attnscope
