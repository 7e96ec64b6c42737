// GGUF files as checkpoints of transformers' form: its names, its order of rows, a config.json and
// a tokenizer.json.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/file_format.h"
#include "attnscope/checkpoint/gguf/gguf_file.h"

namespace attnscope {

bool recognises_gguf(std::span<const std::byte> start);

/// All parts of "X-00002-of-00003.gguf"; of another name the file alone.
std::vector<std::filesystem::path> gguf_parts(const std::filesystem::path& file);

/// Of all parts, in their order; one for each. Throws Error(format) where they are not parts of one
/// model, and as parse_gguf() does.
std::vector<FileContents> read_gguf(std::span<const MappedFile> parts);

/// What the parsed parts mean. An architecture that is not described keeps its names, and has no
/// config. `need` is called for the few tensors whose values are looked at.
std::vector<FileContents> gguf_contents(std::span<const GgufFile> parts,
                                        const NeedBytes& need = {});

}  // namespace attnscope
